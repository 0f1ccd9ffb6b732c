const widthsOf = (rows: readonly (readonly string[])[]): readonly number[] =>
  (rows[0] ?? []).map((_, place) => Math.max(...rows.map(row => [...(row[place] ?? '')].length)))

/** Lay out rows in columns two spaces apart, each line indented by two; the last column is not filled up. */
export const columns = (rows: readonly (readonly string[])[]): string => {
  const widths = widthsOf(rows)
  return rows
    .map(row => {
      const cells = row.map((cell, place) => cell + ' '.repeat((widths[place] ?? 0) - [...cell].length))
      return `  ${cells.join('  ')}`.trimEnd()
    })
    .join('\n')
}

/** Lay out a table under its head, `none` where it has no rows. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[], none: string): string =>
  rows.length === 0 ? none : columns([head.map(title => title.toUpperCase()), ...rows])
