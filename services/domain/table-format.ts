/** Formats of exported tables. */
export const tableFormats = ['csv', 'ndjson', 'parquet', 'arrow'] as const

export type TableFormat = (typeof tableFormats)[number]

/**
 * Media type of each format.
 * Source: https://www.iana.org/assignments/media-types/media-types.xhtml.
 */
export const tableMediaTypes: Readonly<Record<TableFormat, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
  arrow: 'application/vnd.apache.arrow.stream',
}

/**
 * Return whether a table of records is in the order of time. Columnar files have the order in which the engine stores the
 * rows, because a sort would take a third of the time. Source: docs/rules/export.md #streams.
 */
export const isByTime = (format: TableFormat): boolean => format === 'csv' || format === 'ndjson'
