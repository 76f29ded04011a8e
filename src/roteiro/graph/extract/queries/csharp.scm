(namespace_declaration name: (_) @package)
(file_scoped_namespace_declaration name: (_) @package)
(class_declaration name: (identifier) @name) @def.class
(struct_declaration name: (identifier) @name) @def.struct
(record_declaration name: (identifier) @name) @def.class
(interface_declaration name: (identifier) @name) @def.interface
(enum_declaration name: (identifier) @name) @def.enum
(delegate_declaration name: (identifier) @name) @def.fn
(enum_member_declaration name: (identifier) @name) @bind
(method_declaration returns: (_) @returns name: (identifier) @name) @def.fn
(constructor_declaration name: (identifier) @name) @def.fn
(local_function_statement type: (_) @returns name: (identifier) @name) @def.fn
(property_declaration type: (_) @type name: (identifier) @name) @bind
(event_field_declaration (variable_declaration type: (_) @type (variable_declarator name: (identifier) @name))) @bind
(lambda_expression) @block
(anonymous_method_expression) @block

(base_list (_) @base)
(variable_declaration type: (_) @type (variable_declarator name: (identifier) @name . (_)? @value)) @bind
(parameter type: (_) @type name: (identifier) @name) @param
(implicit_parameter) @param.self
(foreach_statement type: (_) @type left: (identifier) @name right: (_) @value) @bind.item
(assignment_expression left: (member_access_expression) @name right: (_) @value) @bind
(declaration_pattern type: (_) @type name: (identifier) @name) @bind
(catch_declaration type: (_) @type name: (identifier) @name) @bind

(using_directive !name [(identifier) (qualified_name)] @module) @using
(using_directive name: (identifier) @alias (_) @module .) @import.alias

(invocation_expression function: (_) @call)
(object_creation_expression type: (_) @new)
(return_statement (_) @return)
(arrow_expression_clause (_) @return)
(attribute name: (_) @type.use)
(argument [(identifier) (member_access_expression)] @ref)
(return_statement [(identifier) (member_access_expression)] @ref)
(assignment_expression right: [(identifier) (member_access_expression)] @ref)
(variable_declarator [(member_access_expression)] @ref)
(binary_expression [(identifier) (member_access_expression)] @ref)
(_ type: [(identifier) (qualified_name)] @type.use)
(_ returns: [(identifier) (qualified_name)] @type.use)
(generic_name (identifier) @type.use)
(type_argument_list [(identifier) (qualified_name)] @type.use)
(comment) @comment
(throw_statement (object_creation_expression type: (_) @_error) (#any-of? @_error "NotImplementedException" "System.NotImplementedException")) @stub
(throw_expression (object_creation_expression type: (_) @_error) (#any-of? @_error "NotImplementedException" "System.NotImplementedException")) @stub
