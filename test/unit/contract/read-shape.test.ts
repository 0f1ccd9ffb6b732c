import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readShape, readShapeInSteps } from '../../../services/contract/read-shape.ts'
import { tariffCreation } from '../../../services/contract/tariffs/tariff-draft.ts'
import { scheduleFrame } from '../../../services/contract/tariffs/tariff-schedule.ts'
import { runToEnd } from '../../../services/domain/run-to-end.ts'

const rate = fc.record(
  {
    fixed: fc.oneof({ weight: 20, arbitrary: fc.constant(0.1) }, { weight: 1, arbitrary: fc.constant('x') }),
    to_kwh: fc.oneof(fc.constant(null), fc.constant(5)),
    to_kw: fc.constant(1),
  },
  { requiredKeys: ['fixed'], noNullPrototype: true },
)
const band = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      valid_from: fc.constant('00:00:00'),
      valid_to: fc.constant('01:00:00'),
      rate: fc.array(rate),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      null,
      5,
      {},
      { valid_from: 1 },
      { valid_from: 'a', valid_to: 'b', rate: [], more: 1 },
    ),
  },
)
/** Values parsed from text, as in a request, so that no object occurs twice. */
const posted = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  values.map(value => JSON.parse(JSON.stringify(value)))
const schedule = fc.array(
  fc.record({
    months: fc.constantFrom(['All'], null, [1]),
    days_and_hours: fc.array(
      fc.record({ days: fc.constantFrom(['All'], undefined), hours: fc.array(band, { maxLength: 120, size: 'max' }) }),
    ),
  }),
  { maxLength: 4 },
)

/** Count the steps. */
const stepsOf = (work: Generator<void, unknown>): number => [...work].length

describe('a value that a shape reads in steps', () => {
  it('has the same result and the same refusal as without steps', () => {
    fc.assert(
      fc.property(posted(schedule), sent => {
        expect(runToEnd(readShapeInSteps(scheduleFrame, sent, 'body'))).toEqual(readShape(scheduleFrame, sent, 'body'))
        const body = { location_id: 'loc_1', direction: 'IMPORT', type: 'COMMODITY', schedule: sent }
        expect(runToEnd(readShapeInSteps(tariffCreation, body, 'body'))).toEqual(
          readShape(tariffCreation, body, 'body'),
        )
      }),
      { numRuns: 40 },
    )
  })

  it('pauses within a list of time bands, and within the tiers of one band', () => {
    const rates = (count: number) => Array.from({ length: count }, () => ({ fixed: 0.1 }))
    const hours = (bands: number, tiers: number) => [
      {
        days_and_hours: [
          { hours: Array.from({ length: bands }, () => ({ valid_from: 'a', valid_to: 'b', rate: rates(tiers) })) },
        ],
      },
    ]
    expect(stepsOf(readShapeInSteps(scheduleFrame, hours(1_440, 4), 'body'))).toBeGreaterThan(50)
    expect(stepsOf(readShapeInSteps(scheduleFrame, hours(1, 20_000), 'body'))).toBeGreaterThan(50)
  })

  it('is refused for its first element if all elements of a list are invalid', () => {
    const wrong = Array.from({ length: 19_000 }, () => ({ days_and_hours: [{}, {}] }))
    expect(runToEnd(readShapeInSteps(scheduleFrame, wrong, 'body'))).toEqual({
      ok: false,
      refusal: { code: 'field_required', message: 'hours is required', field: '[0].days_and_hours[0].hours' },
    })
  })
})
