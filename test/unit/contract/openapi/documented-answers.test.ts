import { Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { checkAnswersOf, undocumentedCode } from '../../../support/openapi/documented-answers.ts'
import { undocumentedCodes } from '../../../support/openapi/undocumented-codes.ts'

const answer = { method: 'PATCH', path: '/charges/chg_1', apiVersion: '2025-09-14', code: 'field_immutable' } as const

describe('the check of an error answer', () => {
  it('accepts a code that the document lists', () => {
    expect(undocumentedCode(answer)).toBeNull()
  })

  it('names operation and code if the document does not list the code', () => {
    expect(undocumentedCode({ ...answer, code: 'tariff_overlap' })).toBe(
      'charge_update (PATCH /charges/{id}): tariff_overlap',
    )
  })

  it('reads the document of the API version of the answer', () => {
    const earlier = { method: 'GET', path: '/tariffs/rates/loc_1', apiVersion: '2024-08-24' }
    expect(undocumentedCode({ ...earlier, code: 'plan_managed' })).toContain('plan_managed')
    expect(undocumentedCode({ ...earlier, apiVersion: '2025-09-14', code: 'plan_managed' })).toBeNull()
  })

  it('prefers a fixed segment to a parameter', () => {
    const batch = { ...answer, method: 'POST', path: '/statements/batch/', code: 'plan_managed' } as const
    expect(undocumentedCode(batch)).toContain('statement_batch_create')
  })

  it('accepts answers of paths without an operation', () => {
    expect(undocumentedCode({ ...answer, path: '/nowhere', code: 'not_found' })).toBeNull()
    expect(undocumentedCode({ ...answer, method: 'POST', code: 'method_not_allowed' })).toBeNull()
  })
})

describe('an app under test', () => {
  const found: string[] = []
  // A code that this test provokes must not fail the file.
  afterEach(() => {
    found.push(...undocumentedCodes)
    undocumentedCodes.clear()
  })

  const app = checkAnswersOf(new Hono())
  app.patch('/charges/:id', context => {
    context.header('Api-Version', '2025-09-14')
    return context.json({ object: 'error', code: context.req.header('code') }, 400)
  })

  it('answers as without the check', async () => {
    const reply = await app.request('/charges/chg_1', { method: 'PATCH', headers: { code: 'last_owner' } })
    expect(await reply.json()).toEqual({ object: 'error', code: 'last_owner' })
    const listed = await app.request('/charges/chg_1', { method: 'PATCH', headers: { code: 'not_found' } })
    expect(listed.status).toBe(400)
  })

  it('reports the undocumented code alone', () => {
    expect(found).toEqual(['charge_update (PATCH /charges/{id}): last_owner'])
  })
})
