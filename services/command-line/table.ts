const widthsOf = (rows: readonly (readonly string[])[]): readonly number[] =>
  (rows[0] ?? []).map((_, columnIndex) => Math.max(...rows.map(row => [...(row[columnIndex] ?? '')].length)))

/** Format rows in columns with two spaces between them. Each line is indented by two; trailing spaces are removed. */
export const columns = (rows: readonly (readonly string[])[]): string => {
  const widths = widthsOf(rows)
  return rows
    .map(row => {
      const cells = row.map((cell, columnIndex) => cell + ' '.repeat((widths[columnIndex] ?? 0) - [...cell].length))
      return `  ${cells.join('  ')}`.trimEnd()
    })
    .join('\n')
}

/** Format a table with a header; return `emptyText` if there are no rows. */
export const table = (
  columnNames: readonly string[],
  rows: readonly (readonly string[])[],
  emptyText: string,
): string => (rows.length === 0 ? emptyText : columns([columnNames.map(title => title.toUpperCase()), ...rows]))
