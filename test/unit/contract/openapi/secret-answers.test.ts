import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Operation } from '../../../../services/contract/operation.ts'
import { operations } from '../../../../services/operations.ts'

/** Texts and member names of every secret that an answer can have. */
const secretPattern =
  /sk_(?:live|test)_|\bcot_|whsec_|eyJ[\w-]+\.|token=[0-9a-f]|"(?:\w*_token|secret|link|password|api_key)":/

const showsSecret = ({ answer, examples }: Pick<Operation, 'answer' | 'examples'>): boolean =>
  secretPattern.test(
    JSON.stringify([z.toJSONSchema(answer.shape, { unrepresentable: 'any' }), examples?.answer ?? null]),
  )

describe('an answer under an Idempotency-Key', () => {
  it('is declared as secret exactly if its shape or example shows a secret', () => {
    const stored = operations.filter(({ idempotent }) => idempotent === true)
    expect(stored.length).toBeGreaterThan(20)
    const declared = stored.filter(({ secretAnswer }) => secretAnswer === true).map(({ id }) => id)
    expect(stored.filter(showsSecret).map(({ id }) => id)).toEqual(declared)
    expect(declared).toContain('user_create')
    expect(operations.filter(({ secretAnswer, idempotent }) => secretAnswer === true && idempotent !== true)).toEqual(
      [],
    )
  })

  it.each([
    ['a member', z.object({ secret: z.string() }), undefined],
    ['an example', z.object({ name: z.string() }), { name: 'https://a.example/console/reset?token=0f1e' }],
  ])('is recognised as secret by %s', (_, shape, answer) => {
    expect(showsSecret({ answer: { name: 'Planted', shape }, examples: { answer } })).toBe(true)
    expect(showsSecret({ answer: { name: 'Plain', shape: z.object({ name: z.string() }) } })).toBe(false)
  })
})
