(package_clause (package_identifier) @package)
(function_declaration name: (identifier) @name) @def.fn
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @receiver)) name: (field_identifier) @name) @def.fn
(type_declaration (type_spec name: (type_identifier) @name type: (struct_type))) @def.struct
(type_declaration (type_spec name: (type_identifier) @name type: (interface_type))) @def.interface
(type_spec name: (type_identifier) @name type: (struct_type)) @def.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @def.interface
(type_spec name: (type_identifier) @name) @def.struct
(type_alias name: (type_identifier) @name) @def.const
(method_elem name: (field_identifier) @name result: (_)? @returns) @def.fn
(const_spec name: (identifier) @name value: (expression_list . (_) @value)?) @bind
(var_spec name: (identifier) @name type: (_)? @type value: (expression_list . (_) @value)?) @bind
(func_literal) @block

(function_declaration result: [(type_identifier) (pointer_type) (qualified_type) (slice_type) (map_type) (generic_type)] @returned)
(method_declaration result: [(type_identifier) (pointer_type) (qualified_type) (slice_type) (map_type) (generic_type)] @returned)
(function_declaration result: (parameter_list . (parameter_declaration type: (_) @returned)))
(method_declaration result: (parameter_list . (parameter_declaration type: (_) @returned)))

(field_declaration name: (field_identifier) @name type: (_) @type) @bind
(struct_type (field_declaration_list (field_declaration !name type: (_) @base)))
(interface_type (type_elem (type_identifier) @base))
(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @name type: (_) @type) @param))
(_ parameters: (parameter_list (parameter_declaration name: (identifier) @name type: (_) @type) @param))
(_ parameters: (parameter_list (variadic_parameter_declaration name: (identifier) @name) @param))
(short_var_declaration left: (expression_list . (identifier) @name) right: (expression_list . (_) @value)) @bind
(short_var_declaration left: (expression_list (_) . (identifier) @name)) @bind
(range_clause left: (expression_list (_) . (identifier) @name) right: (_) @value) @bind.item
(range_clause left: (expression_list . (identifier) @name .)) @bind

(import_spec name: (package_identifier) @alias path: (_) @module) @import
(import_spec !name path: (_) @module) @import
(import_spec name: (dot) @star path: (_) @module) @import

(call_expression function: (_) @call)
(composite_literal type: [(type_identifier) (qualified_type)] @call)
(argument_list [(identifier) (selector_expression)] @ref)
(literal_element [(identifier) (selector_expression)] @ref)
(return_statement (expression_list (_) @return))
(return_statement (expression_list [(identifier) (selector_expression)] @ref))
(expression_list [(identifier) (selector_expression)] @ref)
(binary_expression [(identifier) (selector_expression)] @ref)
(_ type: [(type_identifier) (qualified_type)] @type.use)
(pointer_type [(type_identifier) (qualified_type)] @type.use)
(slice_type element: [(type_identifier) (qualified_type)] @type.use)
(map_type value: [(type_identifier) (qualified_type)] @type.use)
(comment) @comment
(call_expression function: (identifier) @_panic arguments: (argument_list . (_) @_text) (#eq? @_panic "panic") (#match? @_text "[Nn]ot (yet )?implemented|[Uu]nimplemented|TODO")) @stub
