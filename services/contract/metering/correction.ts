import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import { energyScale } from '../../domain/quantity.ts'
import type { ListedCorrection } from '../../domain/record/correction.ts'
import { exactDecimal, exampleObject, idText, instantText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { identifier, objectIdentifier } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { listing, listParameters } from '../list.ts'
import { currentRoute, defineOperation } from '../operation.ts'
import { instantParameter } from '../parameter.ts'
import { deviceOnly, locationOnly } from '../reference.ts'

const valuesShape = z
  .object({
    energy: z.object({ value: exactDecimal.describe('Submitted WH. 0 cancels the record.') }),
    confidence: exactDecimal,
    batch_id: orNull(idText('bat')).describe('The submission of these values; null for an instant cost.'),
    time_received: instantText,
  })
  .meta({ component: 'SubmittedValues' })

export const correctionShape = objectShape('mco', 'meter_correction', {
  record_id: idText('mre'),
  location_id: idText('loc'),
  device_id: orNull(idText('dev')),
  start_time: instantText.describe('Start of the record.'),
  end_time: instantText.describe('End of the record.'),
  before: valuesShape,
  after: valuesShape,
})

export type CorrectionWire = z.output<typeof correctionShape>

const confidenceDigits = 6

const valuesToWire = ({ energy, confidence, batchId, receivedAt }: ListedCorrection['after']) => ({
  energy: { value: scaledNumber(energy, energyScale) },
  confidence: scaledNumber(BigInt(confidence), confidenceDigits),
  batch_id: batchId,
  time_received: writeInstant(receivedAt),
})

/** Write a correction. `recordId` is a complete id. The correction is created when its values arrive. */
export const correctionToWire = (view: ListedCorrection): CorrectionWire =>
  objectToWire(
    'meter_correction',
    { ...view, createdAt: view.after.receivedAt },
    {
      record_id: view.recordId,
      location_id: view.locationId,
      device_id: view.deviceId,
      start_time: writeInstant(view.start),
      end_time: writeInstant(view.end),
      before: valuesToWire(view.before),
      after: valuesToWire(view.after),
    },
  )

const exampleValues = { confidence: 1_000_000, batchId: 'bat_0198c0ffee00112233445566', receivedAt: 1_757_845_000_000 }

const example = correctionToWire({
  ...exampleObject('mco'),
  recordId: 'mre_5f0198c0ffee001122334455',
  locationId: 'loc_0198c0ffee00112233445566',
  deviceId: 'dev_0198c0ffee00112233445566',
  start: 1_757_844_000_000,
  end: 1_757_844_900_000,
  before: { ...exampleValues, energy: 1_250_000_000n },
  after: { ...exampleValues, energy: 1_300_000_000n, receivedAt: 1_757_931_400_000 },
})

export const correctionList = defineOperation({
  id: 'meter_correction_list',
  summary: 'List corrections of records',
  description:
    'Returns the records that were sent again with another value or confidence: the values before and after, newest correction first. Without a filter, it lists the corrections of the account.',
  tag: 'Metering',
  ...listing('MeterCorrection', correctionShape, '/meters/corrections', example),
  routes: currentRoute('GET', '/meters/corrections'),
  references: { query: { location_id: locationOnly, device_id: deviceOnly } },
  query: listParameters({
    record_id: identifier('mre').optional(),
    location_id: objectIdentifier('loc').optional().describe('Includes the records of its devices.'),
    device_id: objectIdentifier('dev').optional(),
    start_time: instantParameter.optional().describe('Corrections that arrived at or after this time.'),
    end_time: instantParameter.optional().describe('Corrections that arrived before this time.'),
  }),
  refusals: ['cursor_not_found', 'location_not_found', 'device_not_found'],
})
