const widthsOf = (rows: readonly (readonly string[])[]): readonly number[] =>
  (rows[0] ?? []).map((_, columnIndex) => Math.max(...rows.map(row => [...(row[columnIndex] ?? '')].length)))

/** Lay out rows in columns two spaces apart, each line indented by two; the last column is not filled up. */
export const columns = (rows: readonly (readonly string[])[]): string => {
  const widths = widthsOf(rows)
  return rows
    .map(row => {
      const cells = row.map((cell, columnIndex) => cell + ' '.repeat((widths[columnIndex] ?? 0) - [...cell].length))
      return `  ${cells.join('  ')}`.trimEnd()
    })
    .join('\n')
}

/** Lay out a table under its head, `none` where it has no rows. */
export const table = (
  columnNames: readonly string[],
  rows: readonly (readonly string[])[],
  emptyText: string,
): string => (rows.length === 0 ? emptyText : columns([columnNames.map(title => title.toUpperCase()), ...rows]))
