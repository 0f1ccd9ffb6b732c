import { z } from 'zod'
import { formatTimeOfDay } from '../../domain/instant.ts'
import type { ScheduleEntry, TimeBand } from '../../domain/tariff/tariff.ts'
import { fields, requestList } from '../field.ts'
import { optionalOr, transformed } from '../request-pipe.ts'
import { maxTiers, numberAsText, rateInput, rateShape, rateToWire } from './rate.ts'
import { type ScheduleEntryInput, tariffScheduleLimits } from './read-tariff-terms.ts'

/** List of a schedule. The rules of the tariff refuse an empty one. */
const scheduleList = <Shape extends z.ZodType>(element: Shape, max: number) =>
  requestList(element, { max, code: 'schedule_invalid' })

const hours = fields({
  valid_from: z.string().meta({ examples: ['06:00:00'] }),
  valid_to: z
    .string()
    .describe('00:00:00 is the end of the day. A time before valid_from is on the next day.')
    .meta({ examples: ['22:00:00'] }),
  rate: scheduleList(rateInput, maxTiers).meta({ minItems: 1 }).describe('Tiers, the lowest first.'),
}).meta({ component: 'HoursInput' })

const dayOfMonth = transformed(numberAsText, Number).meta({ type: 'integer', minimum: 1, maximum: 31 })

const names = (max: number) => scheduleList(z.string(), max).meta({ minItems: 1 })

/**
 * Structure of a schedule: lists, texts, and numbers as texts. The rules of the tariff validate names, times and
 * prices.
 */
export const scheduleFrame = scheduleList(
  fields({
    months: optionalOr(names(tariffScheduleLimits.months), null).describe('Jan … Dec, or All. Default: All.'),
    dates: optionalOr(scheduleList(dayOfMonth, tariffScheduleLimits.dates), null).describe(
      'Days of the month, 1 to 31. Default: every day.',
    ),
    days_and_hours: requestList(
      fields({
        days: optionalOr(names(tariffScheduleLimits.days), null).describe(
          'Mon … Sun, Weekdays, Weekend, Holidays, # with the name of a day type, or All. Default: All.',
        ),
        hours: scheduleList(hours, tariffScheduleLimits.hours).meta({ minItems: 1 }),
      }).meta({ component: 'DaysAndHoursInput' }),
    ).meta({ minItems: 1 }),
  }).meta({ component: 'ScheduleEntryInput' }),
  tariffScheduleLimits.entries,
).meta({ minItems: 1 })

/**
 * Default schedule of a market tariff: the market price at all times. Source: docs/rules/tariffs.md #market-tariffs.
 */
export const marketSchedule: readonly ScheduleEntryInput[] = [
  { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{}] }] }] },
]

export const scheduleShape = z.array(
  z
    .object({
      months: z.array(z.string()),
      dates: z.array(z.int()).optional().describe('Absent in lists.'),
      days_and_hours: z.array(
        z
          .object({
            days: z.array(z.string()),
            hours: z.array(
              z
                .object({ valid_from: z.string(), valid_to: z.string(), rate: z.array(rateShape) })
                .meta({ component: 'Hours' }),
            ),
          })
          .meta({ component: 'DaysAndHours' }),
      ),
    })
    .meta({ component: 'ScheduleEntry' }),
)

const timeBandToWire = ({ validFrom, validTo, rate }: TimeBand) => ({
  valid_from: formatTimeOfDay(validFrom),
  valid_to: formatTimeOfDay(validTo),
  rate: rate.map(rateToWire),
})

/** Write a schedule with exact numbers. `withDates` includes the dates of the entries. */
export const scheduleToWire = (
  schedule: readonly ScheduleEntry[],
  withDates: boolean,
): z.output<typeof scheduleShape> =>
  schedule.map(({ months, dates, daysAndHours }) => ({
    months: [...months],
    ...(withDates ? { dates: [...dates] } : {}),
    days_and_hours: daysAndHours.map(({ days, hours }) => ({ days: [...days], hours: hours.map(timeBandToWire) })),
  }))
