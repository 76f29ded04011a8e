(module name: (_) @name) @def.module
(class name: (_) @name) @def.class
(method name: (_) @name) @def.fn
(singleton_method name: (_) @name) @def.fn
(assignment left: (constant) @name right: (call receiver: (constant) @_holder method: (identifier) @_new) (#any-of? @_holder "Struct" "Class" "Data")) @def.class
(block) @block
(do_block) @block
(lambda) @block

(superclass (_) @base)
(call method: (identifier) @_mixin arguments: (argument_list [(constant) (scope_resolution)] @base) (#any-of? @_mixin "include" "extend" "prepend"))
(assignment left: [(constant) (identifier) (instance_variable) (class_variable)] @name right: (_) @value) @bind
(operator_assignment left: [(identifier) (instance_variable)] @name right: (_) @value) @bind
(left_assignment_list [(identifier) (instance_variable)] @name @bind)
(method_parameters (identifier) @name @param)
(method_parameters (_ name: (identifier) @name) @param)
(block_parameters (identifier) @name @param)
(lambda_parameters (identifier) @name @param)
(exception_variable (identifier) @name @bind)

(call method: (identifier) @_require arguments: (argument_list . (string (string_content) @module)) (#any-of? @_require "require_relative" "require" "load")) @import.path

(call method: [(identifier) (constant)]) @call.whole
(super) @call
(body_statement (identifier) @call)
(block_body (identifier) @call)
(argument_list (identifier) @call)
(call receiver: (identifier) @call)
(pair value: (identifier) @call)
(assignment right: (identifier) @call)
(then (identifier) @call)
(argument_list [(constant) (scope_resolution)] @ref)
(assignment right: [(constant) (scope_resolution)] @ref)
(call receiver: [(constant) (scope_resolution)] @ref)
(binary [(constant) (scope_resolution)] @ref)
(array [(constant) (scope_resolution)] @ref)
(exceptions [(constant) (scope_resolution)] @ref)
(pair value: [(constant) (scope_resolution)] @ref)
(body_statement (_) @return.tail .)
(return (argument_list (_) @return))
(comment) @comment
(call method: (identifier) @_raise arguments: (argument_list . (constant) @_error) (#eq? @_raise "raise") (#eq? @_error "NotImplementedError")) @stub
