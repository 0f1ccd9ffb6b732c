import { describe, expect, it } from 'vitest'
import { documentedCodes } from '../../../../services/contract/openapi/documented-codes.ts'
import type { Operation } from '../../../../services/contract/operation.ts'
import { operations } from '../../../../services/operations.ts'
import { reachedMessages } from '../../../support/openapi/reached-messages.ts'

/** Return the refusals of changed examples whose code the documents of the operation do not list. */
const undocumented = async (checked: readonly Operation[]): Promise<readonly string[]> => {
  const missing = new Set<string>()
  for await (const { operation, apiVersion, refusal } of reachedMessages(checked)) {
    const [route] = operation.routes[apiVersion]
    if (route !== undefined && !documentedCodes(operation, route).has(refusal.code))
      missing.add(`${apiVersion} ${operation.id}: ${refusal.code}`)
  }
  return [...missing]
}

describe('the documents of the API', () => {
  it.each(operations.map(operation => [operation.id, operation] as const))(
    'list every code that changed examples of %s reach',
    async (_, operation) => {
      expect(await undocumented([operation])).toEqual([])
    },
  )

  it('would miss a code that an operation does not declare', async () => {
    const instantCost = operations.find(operation => operation.id === 'instant_cost_calculate')
    if (instantCost === undefined) throw new Error('There is an operation for instant costs.')
    const { refusals: _, ...withoutRefusals } = instantCost
    expect(await undocumented([withoutRefusals])).toContain('current instant_cost_calculate: end_before_start')
  })
})
