; Definitions. A decorated one comes first and takes its decorators in; the inner match is then skipped.
(decorated_definition definition: (function_definition name: (identifier) @name return_type: (_)? @returns)) @def.fn
(function_definition name: (identifier) @name return_type: (_)? @returns) @def.fn
(decorated_definition definition: (class_definition name: (identifier) @name)) @def.class
(class_definition name: (identifier) @name) @def.class
(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript) (call)] @base))
(type_alias_statement left: (type (identifier) @name)) @def.const

; Nameless scopes.
(lambda) @block
(list_comprehension) @block
(set_comprehension) @block
(dictionary_comprehension) @block
(generator_expression) @block

; Parameters.
(parameters (identifier) @name @param)
(parameters (default_parameter name: (identifier) @name value: (_) @value) @param)
(parameters (typed_parameter . (identifier) @name type: (_) @type) @param)
(parameters (typed_default_parameter name: (identifier) @name type: (_) @type) @param)
(parameters [(list_splat_pattern (identifier) @name) (dictionary_splat_pattern (identifier) @name)] @param)
(parameters (typed_parameter . [(list_splat_pattern (identifier) @name) (dictionary_splat_pattern (identifier) @name)]) @param)
(lambda_parameters (identifier) @name @param)
(lambda_parameters (default_parameter name: (identifier) @name) @param)

; Names that get a value.
(assignment left: [(identifier) (attribute)] @name type: (_)? @type right: (_)? @value) @bind
(assignment left: (pattern_list [(identifier) (attribute)] @name)) @bind
(assignment left: (tuple_pattern [(identifier) (attribute)] @name)) @bind
(augmented_assignment left: (identifier) @name) @bind.again
(named_expression name: (identifier) @name value: (_) @value) @bind
(for_statement left: (identifier) @name right: (_) @value) @bind.each
(for_statement left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]) @bind
(for_in_clause left: (identifier) @name right: (_) @value) @bind.each
(for_in_clause left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]) @bind
(with_item (as_pattern (_) @value alias: (as_pattern_target (identifier) @name))) @bind.enter
(except_clause (as_pattern (_) @type alias: (as_pattern_target (identifier) @name))) @bind
(global_statement (identifier) @name) @global

; Imports.
(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @name) @import
(import_from_statement module_name: (_) @module name: (aliased_import name: (dotted_name) @name alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @star) @import

; Uses.
(call function: (_) @call)
(decorator [(identifier) (attribute) (call)] @decorator)
(return_statement (_) @return)
(yield) @yield
(argument_list [(identifier) (attribute)] @ref)
(keyword_argument value: [(identifier) (attribute)] @ref)
(assignment right: [(identifier) (attribute)] @ref)
(return_statement [(identifier) (attribute)] @ref)
(default_parameter value: [(identifier) (attribute)] @ref)
(typed_default_parameter value: [(identifier) (attribute)] @ref)
(list [(identifier) (attribute)] @ref)
(tuple [(identifier) (attribute)] @ref)
(set [(identifier) (attribute)] @ref)
(pair value: [(identifier) (attribute)] @ref)
(expression_list [(identifier) (attribute)] @ref)
(comparison_operator (identifier) @ref)
(binary_operator (identifier) @ref)
(conditional_expression [(identifier) (attribute)] @ref)
(boolean_operator (identifier) @ref)
(except_clause value: [(identifier) (attribute)] @ref)
(raise_statement [(identifier) (attribute)] @ref)
(type [(identifier) (attribute)] @type.use)
(type (generic_type (identifier) @type.use))
(type (binary_operator [(identifier) (attribute)] @type.use))

; Text for people.
(comment) @comment
(module . (comment)* . (expression_statement (string) @doc))
(block . (comment)* . (expression_statement (string) @doc))

; Places that may be stubs; markers.py takes the abstract ones out.
(raise_statement [(identifier) @_error (call function: (identifier) @_error)] (#eq? @_error "NotImplementedError")) @stub
(function_definition body: (block . (expression_statement (ellipsis)) @stub .))
(function_definition body: (block . (expression_statement (string)) . (expression_statement (ellipsis)) @stub .))
