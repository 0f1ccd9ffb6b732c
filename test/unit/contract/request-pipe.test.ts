import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { optionalOr, transformed } from '../../../services/contract/request-pipe.ts'

/** Add an issue for the text `bad`. */
const readText = (value: string, { issues }: Pick<z.core.ParsePayload, 'issues'>): string => {
  if (value !== 'bad') return `read ${value}`
  issues.push({ code: 'custom', message: 'is bad', input: value, continue: false })
  return z.NEVER
}

/** The same shape by the functions of zod and by those of requests. */
const byZod = z.strictObject({
  text: z.string().transform(readText),
  optional: z
    .string()
    .transform(readText)
    .nullish()
    .transform(value => value ?? 'absent'),
  list: z
    .array(z.strictObject({ text: z.string() }).transform(({ text }, context) => readText(text, context)))
    .nullish()
    .transform(value => value ?? undefined),
})
const ofRequests = z.strictObject({
  text: transformed(z.string(), readText),
  optional: optionalOr(transformed(z.string(), readText), 'absent'),
  list: optionalOr(
    z.array(transformed(z.strictObject({ text: z.string() }), ({ text }, context) => readText(text, context))),
    undefined,
  ),
})

const value = fc.constantFrom(undefined, null, 1, '', 'bad', 'good', {}, [])
const member = fc.oneof({ weight: 8, arbitrary: fc.constantFrom('good', 'fair') }, value)
const body = fc.record(
  {
    text: member,
    optional: fc.oneof(member, value),
    list: fc.oneof(
      value,
      fc.array(fc.record({ text: member, other: value }, { requiredKeys: ['text'] }), { maxLength: 3 }),
    ),
    unknown: value,
  },
  { requiredKeys: ['text'] },
)

/** Return the value or the issues. */
const resultOf = (shape: z.ZodType, sent: unknown) => {
  const { success, data, error } = shape.safeParse(sent)
  return success ? { data } : { issues: error.issues }
}

describe('the shapes of requests', () => {
  it('read and refuse as the functions of zod', () => {
    const counts = { read: 0, refused: 0 }
    fc.assert(
      fc.property(body, sent => {
        const expected = resultOf(byZod, structuredClone(sent))
        expect(resultOf(ofRequests, sent)).toEqual(expected)
        counts['issues' in expected ? 'refused' : 'read'] += 1
      }),
      { numRuns: 3_000 },
    )
    expect(counts.read).toBeGreaterThan(100)
    expect(counts.refused).toBeGreaterThan(100)
  })
})
