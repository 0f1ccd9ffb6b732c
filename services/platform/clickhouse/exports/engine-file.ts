import { isByTime, type TableFormat } from '../../../domain/table-format.ts'
import { textLiteral } from '../encoding/literals.ts'

/** A new file of this process that the engine writes. */
export type EngineFile = { readonly path: string; readonly format: TableFormat }

/** Writes and reads files of this process. A SELECT may read other files with the table function `file`. */
export type FileEngine = {
  /** Write the answer of a SELECT to a new file. Aborting the signal ends the statement. */
  readonly write: (select: string, file: EngineFile, signal: AbortSignal) => Promise<void>
  /** Read a small answer: rows of JSON values. Aborting the signal ends the statement. */
  readonly rows: (select: string, signal: AbortSignal) => Promise<readonly (readonly unknown[])[]>
}

/** Name of each format in the engine. */
export const engineFormats: Readonly<Record<TableFormat, string>> = {
  csv: 'CSVWithNames',
  ndjson: 'JSONEachRow',
  parquet: 'Parquet',
  arrow: 'ArrowStream',
}

/** Time in s after which the engine ends an export. */
const maxSeconds = 3_600

/**
 * Settings of a sort: above 128 MiB it continues on the disk. Twenty million rows make 150 files, which are merged
 * together, so their blocks and buffers are small.
 */
const sortSettings = `max_bytes_before_external_sort=134217728, max_bytes_ratio_before_external_sort=0, max_block_size=8192,
  prefer_external_sort_block_bytes=262144, temporary_files_buffer_size=131072`

/** Settings of a read in the stored order. */
const readSettings = 'optimize_read_in_order=1, max_block_size=65536'

/**
 * Return the settings of a statement that writes a file: instants in ISO 8601, empty cells for null, lines of RFC 4180,
 * and buffers that keep the memory flat. The parts of a UNION run one after the other, and each keeps its order. Bloom
 * filters of a Parquet file would take a sixth of the time. Its dictionaries are small: a column of distinct ids has no use
 * for one.
 */
export const fileSettings = (
  format: TableFormat,
): string => `max_execution_time=${maxSeconds}, max_threads=2, max_insert_threads=1, max_streams_for_union_step=1,
  do_not_merge_across_partitions_select_final=1, query_plan_remove_redundant_sorting=0,
  ${isByTime(format) ? sortSettings : readSettings}, max_read_buffer_size=262144,
  max_memory_usage=734003200, min_insert_block_size_rows=65536, min_insert_block_size_bytes=16777216,
  date_time_output_format='iso', date_time_input_format='best_effort', format_csv_null_representation='', output_format_csv_crlf_end_of_line=1,
  output_format_json_quote_decimals=0, output_format_json_quote_64bit_integers=0,
  output_format_parquet_compression_method='snappy', output_format_parquet_row_group_size=131072,
  output_format_parquet_write_bloom_filter=0, output_format_parquet_max_dictionary_size=65536,
  output_format_arrow_compression_method='none', output_format_arrow_string_as_string=1`

/** Return the table function that reads a file. `structure`: columns with types, such as `id String`. */
export const fileTable = ({ path, format }: EngineFile, structure: string): string =>
  `file(${textLiteral(path)}, '${engineFormats[format]}', ${textLiteral(structure)})`
