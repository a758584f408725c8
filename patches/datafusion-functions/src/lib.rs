//! The part of `datafusion-functions` that `datafusion-physical-plan` calls: `struct`, with which a hash join over several keys
//! makes one value of them for its dynamic filter.
//!
//! The whole crate has several hundred functions of DataFusion's SQL. Muster calls none of them, its functions are MySQL's, but
//! they took 2 CPU minutes of each first build.

/// The functions that are part of DataFusion's language.
pub mod core {
    use arrow::{
        array::StructArray,
        datatypes::{DataType, Field},
    };
    use datafusion_common::{Result, exec_err, internal_err};
    use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
    use std::sync::{Arc, LazyLock};

    /// `struct(a, b, ...)`: one value with the fields `c0`, `c1`, ...
    pub fn r#struct() -> Arc<ScalarUDF> {
        static STRUCT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
            let signature = Signature::variadic_any(Volatility::Immutable);
            Arc::new(ScalarUDF::new_from_impl(StructFunc { signature }))
        });
        STRUCT.clone()
    }

    #[derive(Debug, PartialEq, Eq, Hash)]
    struct StructFunc {
        signature: Signature,
    }

    impl ScalarUDFImpl for StructFunc {
        fn name(&self) -> &str {
            "struct"
        }

        fn signature(&self) -> &Signature {
            &self.signature
        }

        fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
            if arguments.is_empty() {
                return exec_err!("struct requires at least one argument, got 0 instead");
            }
            let field = |(i, ty): (usize, &DataType)| Field::new(format!("c{i}"), ty.clone(), true);
            Ok(DataType::Struct(arguments.iter().enumerate().map(field).collect()))
        }

        fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
            let DataType::Struct(fields) = args.return_type() else {
                return internal_err!("incorrect struct return type");
            };
            let arrays = ColumnarValue::values_to_arrays(&args.args)?;
            Ok(ColumnarValue::Array(Arc::new(StructArray::try_new(fields.clone(), arrays, None)?)))
        }
    }
}
