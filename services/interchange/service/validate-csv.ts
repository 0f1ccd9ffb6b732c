import { recordReferenceOf, sentObjectsOf, tooManyRecords } from '../../contract/metering/meter-batch.ts'
import { readMeterRecord } from '../../contract/metering/meter-record.ts'
import { submissionLimits } from '../../contract/registry/account.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import type { ValidateCsv } from '../../ingest-gateway/submit-interval.ts'
import {
  addReadRecord,
  addRefusedRecord,
  recordsPerCheck,
  type UnvalidatedRecords,
  unvalidatedRecords,
  type ValidationContext,
  validateRecords,
} from '../../ingest-gateway/validate-records.ts'
import { startTimeSlices, type TimeSlices } from '../../platform/concurrency/time-slices.ts'
import { isFailure } from '../../platform/failure.ts'
import { timeZone } from '../../platform/time-zone.ts'
import { delimiterMarks, readCsvQuery } from '../contract/csv-query.ts'
import { readingToElement } from '../contract/file-reading.ts'
import { type CsvReadings, openCsvReadings } from '../domain/csv/csv-readings.ts'
import { leftOutText } from '../domain/csv/row-selection.ts'
import { isRefusedRow, type ReadRow } from '../domain/reading.ts'
import { readCsv } from '../platform/csv.ts'

/** Bytes of a body that are parsed between two pauses. */
const sliceBytes = 65_536

async function* slicesOf(bytes: Uint8Array, timeSlice: TimeSlices): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    yield bytes.subarray(at, at + sliceBytes)
    if (timeSlice.isOver()) await timeSlice.pause()
  }
}

/**
 * Validate a body in text/csv, with the rules of imported files. Records are numbered from 1 in the order of the file; the
 * error of a refused record names its line. Refuses the whole body for rows above 64 KiB, unknown columns, more than 10,000
 * readings and invalid parameters.
 * Source: docs/rules/imports.md #csv.
 */
export const validateCsv: ValidateCsv = async (bytes, query, context) => {
  const submission = readCsvQuery(query, timeZone)
  if (!submission.ok) return submission
  const { rules, choices } = submission.value
  const timeSlice = startTimeSlices(context.part.accountId)
  const delimiter = query.delimiter === undefined ? null : delimiterMarks[query.delimiter]
  const form = { delimiter, encoding: null, skipLines: query.skip_lines ?? 0 }
  const records = unvalidatedRecords(context.part)
  let readings: CsvReadings | undefined
  let count = 0
  const addRows = async (rows: readonly ReadRow[]): Promise<boolean> => {
    for (const row of rows) {
      count += 1
      if (count > submissionLimits.records) return false
      if (count % recordsPerCheck === 0 && timeSlice.isOver()) await timeSlice.pause()
      addRow(records, row, count, context)
    }
    return true
  }
  try {
    for await (const rows of readCsv(slicesOf(bytes, timeSlice), form)) {
      const isFirst = readings === undefined
      if (isFirst && rows[0] !== undefined) {
        const opened = openCsvReadings(rows[0].cells, choices, rules)
        if ('problem' in opened) return refused('body_invalid', withoutOptions(opened.problem))
        readings = opened
      }
      const dataRows = isFirst && readings?.hasHeader === true ? rows.slice(1) : rows
      for (const { cells, line } of dataRows) readings?.addRow(cells, line)
      if (readings !== undefined && !(await addRows(readings.take()))) return tooManyRecords
    }
  } catch (error) {
    if (isFailure(error) && error.code === 'file_unreadable') return refused('body_invalid', error.message)
    throw error
  }
  readings?.end()
  if (readings !== undefined && !(await addRows(readings.take()))) return tooManyRecords
  if (count === 0) {
    const leftOut = readings?.leftOut().map(leftOutText).join(' ') ?? ''
    return refused('body_invalid', leftOut || 'The body must have a header and at least one reading')
  }
  return accepted(await validateRecords(records, context, timeSlice))
}

/** Write the names of options as names of parameters: `--skip-lines` becomes `skip_lines`. */
const withoutOptions = (problem: string): string =>
  problem
    .replace(/--location\b/g, 'location_id')
    .replace(/--([a-z-]+)/g, (_, name: string) => name.replaceAll('-', '_'))

const noRegisters = refused('field_invalid', 'Send register readings to PUT /meters/cumulative/epoch')

const addRow = (records: UnvalidatedRecords, row: ReadRow, recordNumber: number, { at }: ValidationContext): void => {
  if (isRefusedRow(row)) {
    const error = `Line ${row.line}: ${withoutOptions(row.message)}`
    addRefusedRecord(records, { recordNumber, recordReferenceId: null, error, locationId: null, deviceId: null })
    return
  }
  const element = readingToElement(row)
  const read = row.isRegister ? noRegisters : readMeterRecord(element, 'current', at)
  if (read.ok) {
    addReadRecord(records, read.value, recordNumber)
    return
  }
  addRefusedRecord(records, {
    recordNumber,
    recordReferenceId: recordReferenceOf(element),
    error: `Line ${row.line}: ${read.refusal.message}`,
    ...sentObjectsOf(element),
  })
}
