; What is TypeScript's own beside ecma.scm.
(class_declaration name: (type_identifier) @name) @def.class
(abstract_class_declaration name: (type_identifier) @name) @def.class
(interface_declaration name: (type_identifier) @name) @def.interface
(type_alias_declaration name: (type_identifier) @name) @def.interface
(enum_declaration name: (identifier) @name) @def.enum
(enum_body [(property_identifier) @name @bind (enum_assignment name: (property_identifier) @name) @bind])
(internal_module name: (identifier) @name) @def.module
(module name: (identifier) @name) @def.module
(function_signature name: (identifier) @name return_type: (type_annotation)? @returns) @def.fn
(function_declaration return_type: (type_annotation) @returned)
(method_definition return_type: (type_annotation) @returned)
(arrow_function return_type: (type_annotation) @returned)
(method_signature name: (_) @name return_type: (type_annotation)? @returns) @def.fn
(abstract_method_signature name: (_) @name return_type: (type_annotation)? @returns) @def.fn
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @def.fn
(public_field_definition name: (_) @name type: (type_annotation)? @type value: (_)? @value) @bind
(property_signature name: (_) @name type: (type_annotation)? @type) @bind
(variable_declarator name: (identifier) @name type: (type_annotation)? @type value: (_)? @value) @bind
(formal_parameters (_ pattern: (identifier) @name type: (type_annotation)? @type value: (_)? @value) @param)
(formal_parameters (_ pattern: (rest_pattern (identifier) @name)) @param)
(formal_parameters (_ pattern: (object_pattern (shorthand_property_identifier_pattern) @name @param)))
(formal_parameters (_ (accessibility_modifier) pattern: (identifier) @name type: (type_annotation) @type) @field)
(formal_parameters (_ "readonly" pattern: (identifier) @name type: (type_annotation) @type) @field)
(extends_clause value: (_) @base)
(implements_clause (_) @base)
(extends_type_clause type: (_) @base)
(import_statement (import_require_clause (identifier) @alias source: (string (string_fragment) @module))) @import
(export_statement "=" . (identifier) @value) @export.whole
(type_annotation [(type_identifier) (nested_type_identifier)] @type.use)
(type_arguments [(type_identifier) (nested_type_identifier)] @type.use)
(generic_type name: (_) @type.use)
(union_type (type_identifier) @type.use)
(intersection_type (type_identifier) @type.use)
(array_type (type_identifier) @type.use)
