//! The columns of a bulk load, as its statement INSERT BULK names them.

/// The type of a column, as INSERT BULK names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    Smallint,
    Int,
    Bigint,
    Date,
    Decimal { precision: u8, scale: u8 },
    Datetime2 { scale: u8 },
    Char { bytes: u16 },
    Varchar { bytes: u16 },
}

/// Columns of a statement `INSERT BULK table (name type, ...) ...`.
pub fn columns(statement: &str) -> Result<Vec<(String, ColumnType)>, String> {
    let unread = || format!("no columns with types are in {statement:?}");
    let (_, list) = statement.split_once('(').ok_or_else(unread)?;
    let (mut depth, mut start, mut columns) = (0, 0, Vec::new());
    for (at, character) in list.char_indices() {
        match character {
            '(' => depth += 1,
            ',' | ')' if depth == 0 => {
                columns.push(column(&list[start..at]).ok_or_else(unread)?);
                start = at + 1;
                if character == ')' {
                    return Ok(columns);
                }
            }
            ')' => depth -= 1,
            _ => {}
        }
    }
    Err(unread())
}

fn column(text: &str) -> Option<(String, ColumnType)> {
    let (name, of_type) = text.trim().split_once(char::is_whitespace)?;
    let (of_type, sizes) = of_type.trim().split_once('(').unwrap_or((of_type.trim(), ")"));
    let mut sizes = sizes.strip_suffix(')')?.split(',').map(|size| size.trim().parse::<u16>());
    let mut size = || sizes.next()?.ok();
    let of_type = match of_type.trim() {
        "smallint" => ColumnType::Smallint,
        "int" => ColumnType::Int,
        "bigint" => ColumnType::Bigint,
        "date" => ColumnType::Date,
        "decimal" => ColumnType::Decimal {
            precision: size()?.try_into().ok().filter(|precision| (1..=38).contains(precision))?,
            scale: size()?.try_into().ok()?,
        },
        "datetime2" => {
            ColumnType::Datetime2 { scale: size()?.try_into().ok().filter(|&scale| scale <= 7u8)? }
        }
        "char" => ColumnType::Char { bytes: size()? },
        "varchar" => ColumnType::Varchar { bytes: size()? },
        _ => return None,
    };
    Some((name.into(), of_type))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const STATEMENT: &str = "INSERT BULK dbo.t (a int, b decimal(12, 2), c datetime2(6), \
        d char(2), e varchar(500), f smallint, g decimal(38,4)) WITH (TABLOCK)";

    #[test]
    fn columns_and_types_are_those_of_the_statement() {
        let found = columns(STATEMENT).unwrap();
        assert_eq!(found.len(), 7);
        assert_eq!(found[1], ("b".into(), ColumnType::Decimal { precision: 12, scale: 2 }));
        assert_eq!(found[3], ("d".into(), ColumnType::Char { bytes: 2 }));
        for wrong in ["INSERT BULK t", "INSERT BULK t (a", "INSERT BULK t (a money)", "t (a)"] {
            assert!(columns(wrong).is_err(), "{wrong}");
        }
    }
}
