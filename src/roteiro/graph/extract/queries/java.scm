(package_declaration [(scoped_identifier) (identifier)] @package)
(class_declaration name: (identifier) @name) @def.class
(record_declaration name: (identifier) @name) @def.class
(interface_declaration name: (identifier) @name) @def.interface
(annotation_type_declaration name: (identifier) @name) @def.interface
(enum_declaration name: (identifier) @name) @def.enum
(enum_constant name: (identifier) @name) @def.const
(method_declaration type: (_) @returns name: (identifier) @name) @def.fn
(constructor_declaration name: (identifier) @name) @def.fn
(compact_constructor_declaration name: (identifier) @name) @def.fn
(lambda_expression) @block
(object_creation_expression (class_body)) @block

(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name)) @bind
(constant_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name)) @bind
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name value: (_)? @value)) @bind
(formal_parameter type: (_) @type name: (identifier) @name) @param
(spread_parameter (variable_declarator name: (identifier) @name)) @param
(record_declaration parameters: (formal_parameters (formal_parameter type: (_) @type name: (identifier) @name) @bind))
(lambda_expression parameters: (identifier) @name @param)
(inferred_parameters (identifier) @name @param)
(enhanced_for_statement type: (_) @type name: (identifier) @name value: (_) @value) @bind.item
(catch_formal_parameter (catch_type (_) @type) name: (identifier) @name) @bind
(resource type: (_) @type name: (identifier) @name) @bind
(instanceof_expression right: (_) @type name: (identifier) @name) @bind

(import_declaration (scoped_identifier scope: (_) @module name: (_) @name) .) @import
(import_declaration [(scoped_identifier) (identifier)] @module (asterisk) @star) @import

(method_invocation) @call.whole
(object_creation_expression type: (_) @new)
(explicit_constructor_invocation constructor: (_) @call)
(marker_annotation name: (_) @type.use)
(annotation name: (_) @type.use)
(method_reference) @ref.member
(argument_list [(identifier) (field_access)] @ref)
(return_statement (_) @return)
(variable_declarator value: [(identifier) (field_access)] @ref)
(assignment_expression right: [(identifier) (field_access)] @ref)
(binary_expression [(identifier) (field_access)] @ref)
(_ type: [(type_identifier) (scoped_type_identifier)] @type.use)
(generic_type (type_identifier) @type.use)
(type_arguments (type_identifier) @type.use)
(line_comment) @comment
(block_comment) @comment
(throw_statement (object_creation_expression type: (type_identifier) @_error) (#any-of? @_error "UnsupportedOperationException" "NotImplementedException")) @stub
