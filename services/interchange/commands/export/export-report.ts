import type { CommandOutcome } from '../../../command-line/command.ts'
import { formatDecimal } from '../../../domain/quantity.ts'
import { version } from '../../../platform/version.ts'
import type { ExportedRecord, NotExported } from '../../domain/exported-record.ts'
import type { WrittenFile } from './export-file.ts'

/** Sums of written records: energy in 1e-6 Wh, cost in 1e-9 by currency. */
export type ExportSums = { energy: bigint; readonly cost: Map<string, bigint>; unpriced: number }

export const startSums = (): ExportSums => ({ energy: 0n, cost: new Map(), unpriced: 0 })

export const addToSums = (sums: ExportSums, { energy, cost, currencyCode }: ExportedRecord): void => {
  if (cost === null) {
    sums.unpriced += 1
    return
  }
  sums.energy += energy
  sums.cost.set(currencyCode, (sums.cost.get(currencyCode) ?? 0n) + cost)
}

/** Result of an export. `rows` counts readings, charge detail records or objects of tariffs. */
export type ExportResult = WrittenFile & {
  readonly kind: 'costs' | 'tariffs'
  readonly format: string
  readonly file: string
  readonly span: readonly [string, string] | null
  readonly filters: Readonly<Record<string, string>>
  readonly rows: number
  readonly sums: ExportSums | null
  readonly notExported: readonly NotExported[]
  readonly madeAt: string
}

const maxListed = 10_000
const shownLines = 10

const sumsToJson = ({ energy, cost, unpriced }: ExportSums) => ({
  energy_wh: formatDecimal(energy, 6),
  cost: Object.fromEntries([...cost].map(([currency, amount]) => [currency, formatDecimal(amount, 9)])),
  unpriced_records: unpriced,
})

/** Return the manifest of an export: the content of its file, with the names of the manifest of POST /exports. */
export const manifestOf = (result: Omit<ExportResult, 'file'>) => {
  const { kind, format, span, filters, rows, sums, bytes, sha256, notExported, madeAt } = result
  return {
    kind,
    format,
    span,
    filters,
    rows,
    sums: sums === null ? null : sumsToJson(sums),
    sha256,
    bytes,
    not_written_count: notExported.length,
    made_at: madeAt,
    version,
  }
}

/** Return whether a format can express nothing of an export. Then there is no file. */
export const isNothing = ({ rows, notExported }: Pick<ExportResult, 'rows' | 'notExported'>): boolean =>
  rows === 0 && notExported.length > 0

/** Write the result of an export. Exit codes: 0 all, 3 some parts are not written, 1 nothing is written. */
export const exportOutcome = (result: ExportResult): CommandOutcome => {
  const { format, file, rows, sums, bytes, notExported } = result
  const exitCode = notExported.length === 0 ? 0 : isNothing(result) ? 1 : 3
  const more = notExported.length - shownLines
  const text = [
    exitCode === 1
      ? `${file} is not written, because ${format} cannot express any entry.`
      : `${file}: ${format}, ${rows.toLocaleString('en')} ${rows === 1 ? 'entry' : 'entries'}, ${bytes.toLocaleString('en')} bytes`,
    ...(sums === null
      ? []
      : [...sums.cost].map(([currency, amount]) => `  Cost: ${formatDecimal(amount, 9)} ${currency}`)),
    ...notExported.slice(0, shownLines).map(({ id, reason, message }) => `  Not written: ${id}: ${reason}: ${message}`),
    ...(more > 0 ? [`  and ${more.toLocaleString('en')} more`] : []),
  ].join('\n')
  const json = { file, ...manifestOf(result), not_written: notExported.slice(0, maxListed) }
  return { text, json, ok: exitCode === 0, exitCode }
}
