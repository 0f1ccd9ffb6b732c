import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fields, jsonNumber, listOf, optional, requestList, text } from '../../../services/contract/field.ts'
import { readShape } from '../../../services/contract/read-shape.ts'
import { tariffScheduleLimits } from '../../../services/contract/tariffs/read-tariff-terms.ts'
import { scheduleFrame } from '../../../services/contract/tariffs/tariff-schedule.ts'
import { operations } from '../../../services/operations.ts'

type ListOf = (element: z.ZodType) => z.ZodType

/** Shape of a schedule whose lists are made by `list`. */
const scheduleOf = (list: ListOf): z.ZodType => {
  const rate = fields({ fixed: jsonNumber, to_kwh: optional(jsonNumber) })
  const hours = fields({ valid_from: text(), rate: list(rate) }).superRefine((value, context) => {
    if (value.valid_from === 'b') context.addIssue({ code: 'custom', message: 'must not be b', path: ['valid_from'] })
  })
  return fields({ name: text(), schedule: list(fields({ hours: list(hours) })) }).superRefine(({ schedule }) => {
    for (const { hours: bands } of schedule as { hours: { valid_from: unknown }[] }[])
      if (bands.some(one => typeof one.valid_from !== 'string')) throw new Error('The check of an invalid value')
  })
}

const rate = fc.record(
  {
    fixed: fc.oneof({ weight: 5, arbitrary: fc.constant(0.1) }, { weight: 1, arbitrary: fc.constant('x') }),
    to_kwh: fc.oneof(fc.constant(null), fc.constant(5)),
    to_kw: fc.constant(1),
  },
  { requiredKeys: ['fixed'], noNullPrototype: true },
)
const band = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ valid_from: fc.constantFrom('a', 'b'), rate: fc.array(rate, { maxLength: 4 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(null, 5, {}, { valid_from: 1 }, { valid_from: 'a', rate: [], more: 1 }),
  },
)
const body = fc.record({
  name: fc.constantFrom<unknown>('n', 1),
  schedule: fc.array(fc.record({ hours: fc.oneof(fc.array(band, { maxLength: 6 }), fc.constant(1)) }), {
    maxLength: 4,
  }),
})

/** List the shapes of lists inside a shape. */
const listsIn = (shape: z.core.$ZodType, seen = new Set<z.core.$ZodType>()): readonly z.core.$ZodArray[] => {
  if (seen.has(shape)) return []
  seen.add(shape)
  const { def } = (shape as z.core.$ZodTypes)._zod
  const inside = (shapes: readonly z.core.$ZodType[]) => shapes.flatMap(one => listsIn(one, seen))
  if (def.type === 'array') return [shape as z.core.$ZodArray, ...inside([def.element])]
  if (def.type === 'object') return inside(Object.values(def.shape))
  if (def.type === 'union') return inside(def.options)
  if (def.type === 'pipe') return inside([def.in, def.out])
  if (def.type === 'record') return inside([def.valueType])
  return 'innerType' in def ? inside([def.innerType]) : []
}

const unboundedLists = (shape: z.core.$ZodType) => listsIn(shape).filter(one => !one._zod.traits.has('RequestList'))

describe('a list of a request', () => {
  it('has the same result and the same refusal as a list that keeps all issues', () => {
    const [short, full] = [scheduleOf(requestList), scheduleOf(element => z.array(element))]
    fc.assert(
      fc.property(body, sent => {
        expect(readShape(short, sent, 'body')).toEqual(readShape(full, sent, 'body'))
      }),
      { numRuns: 500 },
    )
  })

  it('is refused for its first element if all elements of many lists are invalid', () => {
    const { hours: length } = tariffScheduleLimits
    const blocks = Array.from({ length: 100 }, () => ({ hours: Array.from({ length }, () => ({})) }))
    expect(readShape(scheduleFrame, [{ days_and_hours: blocks }], 'body')).toEqual({
      ok: false,
      refusal: {
        code: 'field_required',
        message: 'valid_from is required',
        field: '[0].days_and_hours[0].hours[0].valid_from',
      },
    })
  })

  it('is refused before its elements are read if it is too long', () => {
    let read = 0
    const element = z.unknown().transform(() => {
      read += 1
    })
    const shape = fields({ ids: listOf(element, { min: 1, max: 2 }).refine(() => true) })
    expect(readShape(shape, { ids: [1, 2] }, 'body').ok).toBe(true)
    expect(readShape(shape, { ids: [1, 2, 3] }, 'body')).toEqual({
      ok: false,
      refusal: { code: 'value_out_of_range', message: 'ids must have at most 2 entries', field: 'ids' },
    })
    expect(read).toBe(2)
  })

  it.each(
    operations.flatMap(({ id, body: shape }) => (shape === undefined || shape === 'raw' ? [] : [[id, shape] as const])),
  )('of %s has few issues', (_, shape) => {
    expect(unboundedLists(shape)).toEqual([])
  })

  it('would be found with many issues', () => {
    expect(unboundedLists(fields({ ids: optional(z.array(text())) }))).toHaveLength(1)
  })
})
