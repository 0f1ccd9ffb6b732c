import { z } from 'zod'
import { isLongerThanDays, type TimeZone } from '../../domain/civil-time.ts'
import { type Refusal, refused } from '../../domain/refusal.ts'
import { fields, instant, listOf, objectIdentifier, oneOf, optional, refuseField } from '../field.ts'
import { formatThousands } from '../message-text.ts'
import { energyBody, powerBody } from './power.ts'
import { boundBody, scheduleLimits } from './schedule-window.ts'

const windowBody = fields({
  device_id: objectIdentifier('dev').describe(
    'A device of the account. A device may have several windows, each with its own max_power.',
  ),
  tariff_direction: optional(oneOf('IMPORT', 'EXPORT')).describe(
    'IMPORT (default): the device consumes energy. EXPORT: the device supplies energy.',
  ),
  start_time: instant.describe('May be in the past.'),
  end_time: instant,
  max_power: optional(powerBody('PowerInput')).describe(
    'Maximum power of the device. Default: max_power of the location.',
  ),
  energy: energyBody,
})

/** Body of a schedule by amount. */
export const amountBody = fields({
  max_power: optional(powerBody('PowerInput')).describe('Maximum sum of all imports at any time.'),
  shaving_threshold: optional(
    fields(boundBody).transform(bounds =>
      bounds.absolute === undefined && bounds.relative === undefined ? undefined : bounds,
    ),
  ).describe(
    'Devices do not import above this price or export below it. The plan can then have less energy than requested.',
  ),
  respect_charges: optional(z.boolean()).describe(
    'Also minimise the change of the DEMAND charges of the location in the calendar months of the plan (default: false). The answer then has charges and bound.',
  ),
  data: listOf(windowBody, { min: 1, max: scheduleLimits.windows }).describe(
    `Up to ${formatThousands(scheduleLimits.windows)} windows of ${formatThousands(scheduleLimits.devices)} devices, within ${scheduleLimits.amountDays} days.`,
  ),
}).superRefine(({ data, max_power: sitePower }, context) => {
  for (const [index, { start_time: start, end_time: end, max_power: power }] of data.entries()) {
    if (end.at <= start.at)
      refuseField(context, 'end_before_start', 'must be after start_time', ['data', index, 'end_time'])
    if (power === undefined && sitePower === undefined) {
      refuseField(context, 'field_required', 'is required: set it for this window, or next to data for all windows', [
        'data',
        index,
        'max_power',
      ])
    }
  }
  if (new Set(data.map(one => one.device_id)).size > scheduleLimits.devices) {
    refuseField(context, 'value_out_of_range', `must have at most ${scheduleLimits.devices} devices`, ['data'])
  }
})

/** Request of a schedule by amount. */
export type AmountBody = z.output<typeof amountBody>

/** Refuse a plan of more than 7 local days (`interval_too_long`). Returns null for a shorter plan. */
export const refuseLongPlan = ({ data }: AmountBody, zone: TimeZone): Refusal | null => {
  const { amountDays: days } = scheduleLimits
  const start = data.reduce((earliest, { start_time: from }) => Math.min(earliest, from.at), Number.POSITIVE_INFINITY)
  const lateIndex = data.findIndex(({ end_time: to }) => isLongerThanDays(zone, { start, end: to.at }, days))
  if (lateIndex === -1) return null
  const field = `data[${lateIndex}].end_time`
  return refused('interval_too_long', `end_time must be at most ${days} days after the first start_time`, field).refusal
}
