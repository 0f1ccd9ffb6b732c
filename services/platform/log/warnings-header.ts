import { type SubmissionWarning, warningCodes } from '../../domain/record/warnings.ts'
import type { Headers } from './log.ts'

/**
 * Write the header with the warnings of a submission, as `code:records:number,number`. The header is empty without
 * warnings. It is a header, so that an earlier release ignores it.
 */
export const toWarningsHeader = (warnings: readonly SubmissionWarning[]): Headers =>
  warnings.length === 0
    ? {}
    : {
        warnings: warnings
          .map(({ code, records, recordNumbers }) => `${code}:${records}:${recordNumbers.join(',')}`)
          .join(';'),
      }

/** Return the warnings that a header names. Codes of a later release are left out. */
export const fromWarningsHeader = ({ warnings = '' }: Headers): readonly SubmissionWarning[] =>
  warnings === ''
    ? []
    : warnings.split(';').flatMap(entry => {
        const [text, records, numbers = ''] = entry.split(':')
        const code = warningCodes.find(known => known === text)
        return code === undefined
          ? []
          : [{ code, records: Number(records), recordNumbers: numbers.split(',').map(Number) }]
      })
