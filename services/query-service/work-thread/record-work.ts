import type { ApiVersion } from '../../contract/api-version.ts'
import { answerInApiVersion } from '../../contract/exchange.ts'
import { meterRecordList, meterRecordRetrieve, storedRecordToWire } from '../../contract/metering/meter-record-read.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { decodeMeterCostRows } from '../../platform/clickhouse/meter-cost/meter-cost-rows.ts'
import { objectTexts } from '../../platform/http/object-texts.ts'
import type { WorkResult } from '../../platform/work-thread/work-messages.ts'
import { recordViewOf } from '../costs/stored-row.ts'
import { encodeTexts } from './answer-bytes.ts'

/**
 * Rows to write, in order. `blocks` contains the rows with several pieces again, with their pieces, as ClickHouse
 * returned them.
 */
type RowsInput = {
  readonly rows: readonly MeterCostRow[]
  readonly blocks: readonly Uint8Array[]
  /** Digits of the ids of the records whose mean power is not plausible. */
  readonly implausibleIds: readonly string[]
  readonly apiVersion: ApiVersion
}

/** Input of a page of records. */
export type RecordListInput = RowsInput & { readonly hasMore: boolean }

/** Decode blocks, and return the rows with their pieces. */
const rowsWithPieces = ({ rows, blocks }: RowsInput): readonly MeterCostRow[] => {
  const found = new Map<string, MeterCostRow>()
  for (const block of blocks) {
    const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength)
    for (const row of decodeMeterCostRows(bytes)) found.set(row.recordId, row)
  }
  return rows.map(row => found.get(row.recordId) ?? row)
}

const recordTexts = (
  row: MeterCostRow,
  { implausibleIds }: RowsInput,
  translate: (record: unknown) => unknown,
): Generator<string> => {
  const view = recordViewOf(row, implausibleIds.includes(row.recordId))
  const write = (from: number, to: number) => storedRecordToWire({ ...view, pieces: view.pieces.slice(from, to) })
  return objectTexts({ member: 'pieces', count: view.pieces.length, write, translate })
}

function* rowTexts(rows: readonly MeterCostRow[], input: RowsInput): Generator<string> {
  const translate = (record: unknown) => answerInApiVersion(meterRecordRetrieve, record, input.apiVersion)
  for (const row of rows) yield* recordTexts(row, input, translate)
}

/** Write a record with all of its pieces. */
export const recordWork = (input: RowsInput): WorkResult => ({
  head: null,
  chunks: encodeTexts(rowTexts(rowsWithPieces(input), input)),
})

function* listTexts(rows: readonly MeterCostRow[], input: RecordListInput): Generator<string> {
  const { hasMore, apiVersion } = input
  const listOf = (data: readonly unknown[]) =>
    answerInApiVersion(
      meterRecordList,
      { object: 'list', url: '/meters/records', has_more: hasMore, data },
      apiVersion,
    ) as {
      readonly data: readonly unknown[]
    }
  const emptyList = JSON.stringify(listOf([]))
  const listStart = emptyList.indexOf('[]') + 1
  yield emptyList.slice(0, listStart)
  for (const [index, row] of rows.entries()) {
    if (index > 0) yield ','
    yield* recordTexts(row, input, record => listOf([record]).data[0])
  }
  yield emptyList.slice(listStart)
}

/** Write a page of records with all of their pieces. */
export const recordListWork = (input: RecordListInput): WorkResult => ({
  head: null,
  chunks: encodeTexts(listTexts(rowsWithPieces(input), input)),
})
