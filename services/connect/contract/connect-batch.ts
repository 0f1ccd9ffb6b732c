import type { z } from 'zod'
import { sessionAnswerRenames } from '../../contract/events/connect-session.ts'
import { fields, identifier, instant, oneOf, optional, text } from '../../contract/field.ts'
import { defineOperation } from '../../contract/operation.ts'
import { customerOnly, locationOnly } from '../../contract/reference.ts'
import { scheduleFrame } from '../../contract/tariffs/tariff-schedule.ts'
import { importedAddress, importedSession, sessionRenames } from './connect-draft.ts'
import { connectRefusals, connectTag, connectTokenAnswer } from './connect-session.ts'

const importedTariff = fields({
  provider_id: optional(identifier('prv')),
  type: oneOf('FIXED', 'TIME_OF_DAY', 'MARKET'),
  name: optional(text()),
  contract: optional(fields({ start_date: optional(instant), end_date: optional(instant) })),
  data: scheduleFrame,
})

export type ImportedTariff = z.output<typeof importedTariff>

const schedule = [
  {
    months: ['All'],
    days_and_hours: [
      { days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.31 }] }] },
    ],
  },
]

export const connectBatchImport = defineOperation({
  id: 'connect_batch_import',
  summary: 'Import a tariff without pages',
  description:
    'Does the work of a complete session in one request: creates customer and location if they are new, and saves the tariff. Use the token of the answer to read the result.',
  tag: connectTag,
  access: 'all',
  routes: { current: [], earlier: [{ method: 'POST', path: '/connect/tariff/batch' }] },
  references: { body: { 'session.customer_id': customerOnly, 'session.location_id': locationOnly } },
  body: fields({ session: importedSession, postal_address: optional(importedAddress), tariff: importedTariff }),
  answer: connectTokenAnswer,
  status: 200,
  idempotent: true,
  secretAnswer: true,
  renames: {
    body: sessionRenames('session.'),
    answer: [...sessionRenames(), ...sessionAnswerRenames],
  },
  refusals: [
    ...connectRefusals,
    'provider_not_found',
    'geo_location_not_found',
    'schedule_invalid',
    'schedule_gap',
    'schedule_overlap',
    'tariff_overlap',
  ],
  examples: {
    body: {
      session: { customer_reference_id: 'household-17', location_reference_id: 'home-17', tariff_direction: 'IMPORT' },
      postal_address: { address_line1: '1 Example Street', city: 'London', post_code: 'SW1A 1AA', country_code: 'GB' },
      tariff: { type: 'FIXED', name: 'Imported', data: schedule },
    },
  },
})
