; What is JavaScript's own beside ecma.scm.
(class_declaration name: (identifier) @name) @def.class
(class_heritage [(identifier) (member_expression) (call_expression)] @base)
(variable_declarator name: (identifier) @name value: (_)? @value) @bind
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @def.fn
(field_definition property: (_) @name value: (_)? @value) @bind
(formal_parameters (identifier) @name @param)
(formal_parameters (assignment_pattern left: (identifier) @name right: (_) @value) @param)
(formal_parameters (rest_pattern (identifier) @name) @param)
(formal_parameters (object_pattern (shorthand_property_identifier_pattern) @name @param))
