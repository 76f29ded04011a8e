; What C++ has beside c.scm.
(class_specifier name: (_) @name body: (_)) @def.class
(namespace_definition name: (_) @name) @def.module
(function_definition type: (_)? @returns declarator: (reference_declarator (function_declarator declarator: (_) @name))) @def.fn
(function_definition !type declarator: (function_declarator declarator: (_) @name)) @def.fn
(field_declaration type: (_) @returns declarator: (function_declarator declarator: (field_identifier) @name)) @def.declared
(field_declaration type: (_) @returns declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))) @def.declared
(field_declaration type: (_) @returns declarator: (reference_declarator (function_declarator declarator: (field_identifier) @name))) @def.declared
(field_declaration_list (declaration declarator: (function_declarator declarator: (identifier) @name)) @def.declared)
(lambda_expression) @block
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)
(alias_declaration name: (type_identifier) @name type: (type_descriptor type: (_) @alias)) @bind.alias
(parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @name)) @param
(optional_parameter_declaration type: (_) @type declarator: (identifier) @name) @param
(field_declaration type: (_) @type declarator: (reference_declarator (field_identifier) @name)) @bind
(declaration type: (_) @type declarator: (reference_declarator (identifier) @name)) @bind
(declaration type: (_) @type declarator: (init_declarator declarator: (reference_declarator (identifier) @name) value: (_) @value)) @bind
(for_range_loop type: (_) @type declarator: [(identifier) @name (reference_declarator (identifier) @name)] right: (_) @value) @bind.item
(using_declaration [(identifier) (qualified_identifier)] @module) @using
(new_expression type: (_) @new)
(init_declarator declarator: (identifier) value: [(argument_list) (initializer_list)]) @constructed
(compound_literal_expression type: (_) @new)
(template_type name: (_) @type.use)
(type_descriptor type: [(type_identifier) (qualified_identifier)] @type.use)
(_ type: (qualified_identifier) @type.use)
(field_initializer (field_identifier) @ref)
