(namespace_definition name: (namespace_name) @package)
(class_declaration name: (name) @name) @def.class
(interface_declaration name: (name) @name) @def.interface
(trait_declaration name: (name) @name) @def.trait
(enum_declaration name: (name) @name) @def.enum
(enum_case name: (name) @name) @def.const
(function_definition name: (name) @name return_type: (_)? @returns) @def.fn
(method_declaration name: (name) @name return_type: (_)? @returns) @def.fn
(const_element . (name) @name) @def.const
(anonymous_function) @block
(arrow_function) @block

(base_clause (_) @base)
(class_interface_clause (_) @base)
(use_declaration [(name) (qualified_name)] @base)
(property_declaration type: (_)? @type (property_element name: (variable_name) @name)) @bind
(simple_parameter type: (_)? @type name: (variable_name) @name) @param
(property_promotion_parameter type: (_)? @type name: (variable_name) @name) @param
(property_promotion_parameter type: (_) @type name: (variable_name) @name) @field
(assignment_expression left: [(variable_name) (member_access_expression)] @name right: (_) @value) @bind
(foreach_statement . (_) @value . (variable_name) @name) @bind.item
(foreach_statement . (_) @value . (pair (_) (variable_name) @name)) @bind.item
(catch_clause type: (_) @type name: (variable_name) @name) @bind

(namespace_use_clause [(name) (qualified_name)] @module alias: (name)? @alias) @import.qualified
(namespace_use_declaration (namespace_name) @scope body: (namespace_use_group (namespace_use_clause [(name) (qualified_name)] @module alias: (name)? @alias))) @import.qualified
(require_once_expression (encapsed_string (string_content) @module)) @import.path
(require_once_expression (string (string_content) @module)) @import.path
(require_expression (string (string_content) @module)) @import.path
(include_expression (string (string_content) @module)) @import.path
(require_once_expression (binary_expression (string (string_content) @module))) @import.path
(require_expression (binary_expression (string (string_content) @module))) @import.path

(function_call_expression function: (_) @call)
(member_call_expression) @call.whole
(nullsafe_member_call_expression) @call.whole
(scoped_call_expression) @call.whole
(object_creation_expression [(name) (qualified_name)] @new)
(return_statement (_) @return)
(attribute [(name) (qualified_name)] @type.use)
(argument [(class_constant_access_expression) (name)] @ref)
(class_constant_access_expression) @ref
(named_type [(name) (qualified_name)] @type.use)
(comment) @comment
