(function_item name: (identifier) @name return_type: (_)? @returns) @def.fn
(function_signature_item name: (identifier) @name return_type: (_)? @returns) @def.fn
(struct_item name: (type_identifier) @name) @def.struct
(union_item name: (type_identifier) @name) @def.struct
(enum_item name: (type_identifier) @name) @def.enum
(enum_variant name: (identifier) @name) @def.const
(trait_item name: (type_identifier) @name) @def.trait
(mod_item name: (identifier) @name body: (_)) @def.module
(mod_item name: (identifier) @name !body) @submodule
(const_item name: (identifier) @name) @def.const
(static_item name: (identifier) @name) @def.const
(type_item name: (type_identifier) @name) @def.const
(macro_definition name: (identifier) @name) @def.fn
(impl_item trait: (_) @type type: (_) @name) @extend
(impl_item !trait type: (_) @name) @extend
(trait_bounds (type_identifier) @base.bound)
(closure_expression) @block

(_ (visibility_modifier) name: (_) @export)
(field_declaration name: (field_identifier) @name type: (_) @type) @bind
(const_item name: (identifier) @name type: (_) @type) @bind
(static_item name: (identifier) @name type: (_) @type) @bind
(type_item name: (type_identifier) @name type: (_) @alias) @bind.alias
(parameter pattern: (identifier) @name type: (_) @type) @param
(parameter pattern: (mut_pattern (identifier) @name) type: (_) @type) @param
(closure_parameters (identifier) @name @param)
(let_declaration pattern: (identifier) @name type: (_)? @type value: (_)? @value) @bind
(let_declaration pattern: (mut_pattern (identifier) @name) type: (_)? @type value: (_)? @value) @bind
(let_declaration pattern: (tuple_pattern (identifier) @name @bind))
(let_condition pattern: (tuple_struct_pattern (identifier) @name .) value: (_) @value) @bind
(for_expression pattern: (identifier) @name value: (_) @value) @bind.item
(match_arm pattern: (match_pattern (tuple_struct_pattern (identifier) @name @bind)))

(use_declaration argument: (_) @use)

(call_expression function: (_) @call)
(struct_expression name: (_) @call)
(macro_invocation macro: (_) @call)
(token_tree (identifier) @call.token . (token_tree))
(arguments [(identifier) (scoped_identifier) (field_expression)] @ref)
(field_initializer value: [(identifier) (scoped_identifier)] @ref)
(let_declaration value: [(identifier) (scoped_identifier)] @ref)
(return_expression (_) @return)
(block (_) @return.tail .)
(binary_expression [(identifier) (scoped_identifier)] @ref)
(match_pattern (scoped_identifier) @ref)
(reference_expression value: [(identifier) (scoped_identifier)] @ref)
(_ type: [(type_identifier) (scoped_type_identifier)] @type.use)
(generic_type type: [(type_identifier) (scoped_type_identifier)] @type.use)
(type_arguments [(type_identifier) (scoped_type_identifier)] @type.use)
(reference_type type: (type_identifier) @type.use)
(_ return_type: (type_identifier) @type.use)
(line_comment) @comment
(block_comment) @comment
(macro_invocation macro: (identifier) @_macro (#any-of? @_macro "todo" "unimplemented")) @stub
