import { z } from 'zod'
import type { AnswerOffset } from '../domain/answer-offset.ts'
import { writeInstant } from '../domain/instant.ts'
import {
  type RecordOverlap,
  type SubmissionWarning,
  type WarningCode,
  warningCodes,
} from '../domain/record/warnings.ts'
import { count, idText, instantText, orNull } from './answer-field.ts'

const messages: Readonly<Record<WarningCode, string>> = {
  implausible_energy:
    'The mean power is above 10 MW. Check units and value, and send the record again with the right value. Or set a higher max_power of its device or location.',
  overlapping_records:
    'Records of one object with different lengths share time, such as the total of a day and its hours. All of them count. Send the records that repeat energy again with value 0.',
}

const warningShape = z
  .object({
    code: z.enum(warningCodes),
    message: z.string().describe('What is doubtful, and what to do.'),
    records: count.optional().describe('In receipts: number of records of the submission with this warning.'),
    record_nums: z
      .array(count)
      .optional()
      .describe('In receipts: positions of the first 100 of these records, from 1, ascending.'),
    location_id: idText('loc').optional().describe('In costs and statements: location of the first overlap.'),
    device_id: orNull(idText('dev')).optional().describe('Device of the first overlap; null for the location itself.'),
    start_time: instantText.optional().describe('Start of the first overlap.'),
  })
  .meta({ component: 'Warning' })

export type WarningWire = z.output<typeof warningShape>

/** Warnings of an answer. The records are stored and count. */
export const warningsShape = z
  .array(warningShape)
  .optional()
  .describe('Doubtful records, which are stored and count. Absent if there are none.')

/** Return the member `warnings` of an answer; no member without warnings. */
const warningsMember = (warnings: WarningWire[]): { warnings?: WarningWire[] } =>
  warnings.length === 0 ? {} : { warnings }

/** Write the warnings of a receipt. */
export const submissionWarningsToWire = (warnings: readonly SubmissionWarning[]) =>
  warningsMember(
    warnings.map(({ code, records, recordNumbers }) => ({
      code,
      message: messages[code],
      records,
      record_nums: [...recordNumbers],
    })),
  )

/** Write the warning of a record. */
export const recordWarningsToWire = (isImplausible: boolean) =>
  warningsMember(isImplausible ? [{ code: 'implausible_energy', message: messages.implausible_energy }] : [])

/** Write the warning of costs or a statement about their first overlap. */
export const overlapToWire = (overlap: RecordOverlap | null, offsetOf: AnswerOffset) =>
  warningsMember(
    overlap === null
      ? []
      : [
          {
            code: 'overlapping_records',
            message: messages.overlapping_records,
            location_id: overlap.locationId,
            device_id: overlap.deviceId,
            start_time: writeInstant(overlap.start, offsetOf(overlap.start)),
          },
        ],
  )
