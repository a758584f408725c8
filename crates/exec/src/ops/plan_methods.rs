//! Methods of `ExecutionPlan` that several operators write alike. Each macro stands in the `impl` block of an operator
//! for the methods that say nothing about that operator.

/// For an operator whose expressions no pass of DataFusion has to see.
macro_rules! no_expressions {
    () => {
        fn apply_expressions(
            &self,
            _f: &mut dyn FnMut(
                &$crate::expr::Physical,
            ) -> datafusion_common::Result<datafusion_common::tree_node::TreeNodeRecursion>,
        ) -> datafusion_common::Result<datafusion_common::tree_node::TreeNodeRecursion> {
            Ok(datafusion_common::tree_node::TreeNodeRecursion::Continue)
        }
    };
}

/// For an operator that passes on the rows of `self.input` as they come, in the same partitions and the same order.
macro_rules! rows_of_input {
    () => {
        fn properties(&self) -> &std::sync::Arc<datafusion_physical_plan::PlanProperties> {
            self.input.properties()
        }

        fn maintains_input_order(&self) -> Vec<bool> {
            vec![true]
        }

        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion_physical_plan::ExecutionPlan>> {
            vec![&self.input]
        }
    };
}

/// For an operator that adds columns to the rows of `self.input`, in the same partitions and the same order. Its
/// properties are `self.properties`.
macro_rules! columns_beside_input {
    () => {
        fn properties(&self) -> &std::sync::Arc<datafusion_physical_plan::PlanProperties> {
            &self.properties
        }

        fn maintains_input_order(&self) -> Vec<bool> {
            vec![true]
        }

        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion_physical_plan::ExecutionPlan>> {
            vec![&self.input]
        }
    };
}

/// For an operator without inputs.
macro_rules! no_inputs {
    () => {
        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion_physical_plan::ExecutionPlan>> {
            Vec::new()
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            _children: Vec<std::sync::Arc<dyn datafusion_physical_plan::ExecutionPlan>>,
        ) -> datafusion_common::Result<std::sync::Arc<dyn datafusion_physical_plan::ExecutionPlan>> {
            Ok(self)
        }
    };
}

/// For an operator through which dynamic filters pass to its inputs. A filter reaches the input that has its columns:
/// fields are named after the statement's columns.
macro_rules! filters_pass {
    () => {
        fn gather_filters_for_pushdown(
            &self,
            _phase: datafusion_physical_plan::filter_pushdown::FilterPushdownPhase,
            parent_filters: Vec<$crate::expr::Physical>,
            _config: &datafusion_common::config::ConfigOptions,
        ) -> datafusion_common::Result<datafusion_physical_plan::filter_pushdown::FilterDescription> {
            datafusion_physical_plan::filter_pushdown::FilterDescription::from_children(
                parent_filters,
                &self.children(),
            )
        }
    };
}

/// For an operator that runs in the place of one of DataFusion's, which is its field `$plan` and knows the expressions
/// and which filters pass.
macro_rules! expressions_and_filters_of {
    ($plan:ident) => {
        fn apply_expressions(
            &self,
            f: &mut dyn FnMut(
                &$crate::expr::Physical,
            ) -> datafusion_common::Result<datafusion_common::tree_node::TreeNodeRecursion>,
        ) -> datafusion_common::Result<datafusion_common::tree_node::TreeNodeRecursion> {
            self.$plan.apply_expressions(f)
        }

        fn gather_filters_for_pushdown(
            &self,
            phase: datafusion_physical_plan::filter_pushdown::FilterPushdownPhase,
            parent_filters: Vec<$crate::expr::Physical>,
            config: &datafusion_common::config::ConfigOptions,
        ) -> datafusion_common::Result<datafusion_physical_plan::filter_pushdown::FilterDescription> {
            self.$plan.gather_filters_for_pushdown(phase, parent_filters, config)
        }
    };
}

/// For an operator with metrics of its own in `self.metrics`.
macro_rules! own_metrics {
    () => {
        fn metrics(&self) -> Option<datafusion_physical_plan::metrics::MetricsSet> {
            Some(self.metrics.clone_inner())
        }
    };
}

pub(super) use {
    columns_beside_input, expressions_and_filters_of, filters_pass, no_expressions, no_inputs, own_metrics,
    rows_of_input,
};
