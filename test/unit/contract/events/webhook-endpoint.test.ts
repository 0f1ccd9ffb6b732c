import { describe, expect, it } from 'vitest'
import { endpointFor } from '../../../../services/contract/events/webhook-endpoint.ts'

describe('an endpoint', () => {
  it('has the query of its URL for scopes that may change endpoints only', () => {
    const url = 'https://example.com/hooks?a=1&token=hush'
    const masked = 'https://example.com/hooks?***'
    for (const [scope, shown] of [
      ['all', url],
      ['operator', url],
      ['support', masked],
      ['read', masked],
      ['metering', masked],
    ] as const)
      expect([scope, endpointFor(scope)({ id: 'whe_1', url })]).toEqual([scope, { id: 'whe_1', url: shown }])
  })

  it('is otherwise unchanged', () => {
    for (const value of [{ url: 'https://example.com/hooks' }, { url: null }, {}, null, 'text'])
      expect(endpointFor('read')(value)).toEqual(value)
  })
})
