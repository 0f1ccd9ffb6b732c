import type { z } from 'zod'
import { oneOf, text } from '../field.ts'
import { flag, parameters, wholeNumber } from '../parameter.ts'

/** Parameters of a body in text/csv. They have the meaning of the options of `npx wattledger import readings`. */
export const csvParameters = parameters({
  columns: text().optional().describe('Columns of a CSV body: field=heading, separated by commas.'),
  location_id: text().optional().describe('Location of all rows of a CSV body.'),
  device_id: text().optional().describe('Device of all rows of a CSV body.'),
  unit: oneOf('WH', 'KWH', 'W', 'KW').optional().describe('Unit of all rows of a CSV body.'),
  direction: text().optional().describe('Direction of all rows of a CSV body. Default: IMPORT.'),
  interval: text()
    .optional()
    .describe('Length of the intervals of a CSV body with single times, such as PT15M, or P1D.'),
  label: oneOf('start', 'end').optional().describe('What a single time of a CSV body is. Default: start.'),
  layout: oneOf('long', 'wide').optional().describe('wide: a row of a CSV body is a day. Default: long.'),
  zone: text().optional().describe('Time zone of times without an offset in a CSV body.'),
  date_format: text().optional().describe('Form of times in a CSV body, such as dd.MM.yyyy HH:mm.'),
  ambiguous: oneOf('earlier', 'later').optional().describe('Times of a doubled hour that occur once in a CSV body.'),
  delimiter: oneOf('comma', 'semicolon', 'tab', 'bar')
    .optional()
    .describe('Mark between cells. Default: from the header.'),
  decimal: oneOf('point', 'comma').optional().describe('Decimal mark of a CSV body. Default: a point.'),
  thousands: oneOf('comma', 'point', 'space', 'apostrophe')
    .optional()
    .describe('Mark between thousands of a CSV body. Default: none.'),
  where: text().optional().describe('Rows of a CSV body to read: COLUMN=TEXT, separated by commas.'),
  map: text().optional().describe('Words of a CSV body for units and directions: WORD=WORD, separated by commas.'),
  sum: text()
    .optional()
    .describe('Column of the registers of a meter in a CSV body. Rows that differ in it alone are added.'),
  raw: flag.optional().describe('The CSV body is an export with raw=true: no apostrophe guards its texts.'),
  skip_lines: wholeNumber({ min: 0, max: 9_999 }).optional().describe('Lines before the header of a CSV body.'),
})

/** Validated parameters of a CSV body. */
export type CsvQuery = z.output<typeof csvParameters>
