import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import { writeInstant } from '../../domain/instant.ts'
import { energyScale } from '../../domain/quantity.ts'
import { exactDecimal, idText, instantText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { isJsonObject } from '../json/json-path.ts'
import { meterRecordRenames, meterRecordShape } from '../metering/meter-record.ts'
import {
  exampleRecord,
  type MeterRecordView,
  meterRecordDataShape,
  meterRecordDataToWire,
  meterRecordHead,
  meterRecordHeadToWire,
  optionShapes,
  optionsToWire,
  recordAnswerRenames,
} from '../metering/meter-record-read.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { flag, parameters } from '../parameter.ts'
import { submissionLimits } from '../registry/account.ts'
import { recordWarningsToWire, warningsShape } from '../warning.ts'

const requestShape = z.object({
  location_id: idText('loc'),
  device_id: orNull(idText('dev')),
  ...optionShapes,
  energy_flow_direction: z.enum(['INBOUND', 'OUTBOUND']),
  tariff_direction: z.enum(['IMPORT', 'EXPORT', 'LOCAL']),
  measurand: z.literal('TRANSFERRED'),
  units: z.enum(['W', 'KW', 'WH', 'KWH']),
  value: exactDecimal,
  confidence: exactDecimal,
  start_time: instantText,
  end_time: instantText,
  non_persistent: z.boolean(),
  include_tariff: z.boolean().optional(),
  include_carbon: z.boolean().optional(),
})

export const instantCostShape = objectShape('mre', 'meter_record', {
  ...meterRecordHead,
  request: requestShape,
  data: meterRecordDataShape.partial({ tariff: true }),
  warnings: warningsShape,
})

type InstantCostWire = z.output<typeof instantCostShape>

/** Query parameters of an instant cost. `includeTariff` and `includeCarbon` exist in the earlier API version only. */
export type InstantCostOptions = {
  readonly nonPersistent: boolean
  readonly includeTariff: boolean
  readonly includeCarbon: boolean
}

/**
 * Data of an instant cost answer. `sentRecord` is the record of the request, in the names of `apiVersion`; `createdAt`
 * in ms.
 */
export type InstantCost = MeterRecordView & {
  readonly sentRecord: unknown
  readonly apiVersion: ApiVersion
  readonly options: InstantCostOptions
  readonly offsetOf: AnswerOffset
  readonly createdAt: number
}

/** Write the request with defaults for absent members. Values and times keep the text of the request. */
const requestToWire = ({ sentRecord, record, apiVersion, options }: InstantCost): InstantCostWire['request'] => {
  const sent = isJsonObject(sentRecord) ? (sentRecord as Readonly<Record<string, never>>) : {}
  return {
    location_id: record.locationId,
    device_id: record.deviceId,
    ...optionsToWire(record),
    energy_flow_direction: record.energyFlowDirection,
    tariff_direction: record.tariffDirection,
    measurand: 'TRANSFERRED',
    units: sent['units'] ?? 'WH',
    value: sent['value'] ?? scaledNumber(record.energy, energyScale),
    confidence: sent['confidence'] ?? scaledNumber(1n, 0),
    start_time: sent['start_time'] ?? writeInstant(record.start),
    end_time: sent['end_time'] ?? writeInstant(record.end),
    non_persistent: options.nonPersistent,
    ...(apiVersion === 'earlier'
      ? { include_tariff: options.includeTariff, include_carbon: options.includeCarbon }
      : {}),
  }
}

/** Write an instant cost. */
export const instantCostToWire = (cost: InstantCost): InstantCostWire => {
  const { tariff, ...data } = meterRecordDataToWire(cost, cost.offsetOf)
  return objectToWire('meter_record', cost, {
    ...meterRecordHeadToWire(cost),
    request: requestToWire(cost),
    data: cost.options.includeTariff ? { ...data, tariff } : data,
    ...recordWarningsToWire(cost.isImplausible),
  })
}

const exampleBody = {
  location_id: exampleRecord.record.locationId,
  device_id: exampleRecord.record.deviceId,
  session_reference_id: 'session-17',
  energy_flow_direction: 'INBOUND',
  tariff_direction: 'IMPORT',
  units: 'KWH',
  value: 1.25,
  start_time: '2025-09-14T10:00:00Z',
  end_time: '2025-09-14T10:15:00Z',
}

export const instantCost = defineOperation({
  id: 'instant_cost_calculate',
  unaudited: 'Only calculates.',
  summary: 'Calculate the cost of a record immediately',
  description:
    'Accepts one record and returns its cost. The record is stored like a submitted record, and counts once even if it is sent again. With non_persistent nothing is stored: the answer is the cost that the record would have. The stored cost can change later with a price or tariff.',
  tag: 'Costs',
  access: 'metering',
  routes: sameRoute('POST', '/costs/instant'),
  query: parameters({
    non_persistent: flag.default(false).describe('Price the record and store nothing.'),
    include_tariff: flag.default(true).describe('False omits the cost.'),
    include_carbon: flag
      .default(false)
      .describe('Accepted and ignored: there is no carbon data.')
      .meta({ deprecated: true }),
  }),
  body: 'raw',
  bodyLimit: submissionLimits.recordBytes,
  bodyDocument: meterRecordShape,
  answer: { name: 'MeterRecord', shape: instantCostShape },
  status: 200,
  idempotent: true,
  renames: {
    query: [{ earlier: 'include_tariff', inRequest: true }],
    body: meterRecordRenames,
    answer: [
      ...recordAnswerRenames,
      ...meterRecordRenames.map(
        rename =>
          ({ ...rename, current: `request.${rename.current}`, earlier: `request.${rename.earlier}` }) as VersionRename,
      ),
      { alwaysInCurrent: 'data.tariff' },
      { earlier: 'request.include_tariff', inRequest: true },
      { earlier: 'request.include_carbon', inRequest: true },
    ],
  },
  refusals: [
    'location_not_found',
    'device_not_found',
    'end_before_start',
    'interval_too_long',
    'time_out_of_range',
    'direction_pair_refused',
    'measurand_not_supported',
    'implausible_energy',
    'no_tariff_connected',
    'no_price_data',
    'pending_connect',
  ],
  examples: {
    body: exampleBody,
    answer: instantCostToWire({
      ...exampleRecord,
      record: { ...exampleRecord.record, sessionReferenceId: 'session-17' },
      sentRecord: exampleBody,
      apiVersion: 'current',
      options: { nonPersistent: false, includeTariff: true, includeCarbon: false },
      offsetOf: () => 0,
      createdAt: 1_757_845_000_000,
    }),
  },
})
