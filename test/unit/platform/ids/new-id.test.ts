import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { idKindOf } from '../../../../services/domain/identifier.ts'
import {
  apiKeyMode,
  deterministicId,
  hashSecret,
  newApiKey,
  newConnectToken,
  newId,
} from '../../../../services/platform/ids/new-id.ts'

describe('new ids', () => {
  it("have their kind's shape and ascend, also where the clock stands still or steps back", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 44 }), { minLength: 2, maxLength: 200 }), instants => {
        const ids = instants.map(at => newId('device', at))
        expect(ids.every(id => idKindOf(id) === 'device')).toBe(true)
        expect(ids.toSorted()).toEqual(ids)
        expect(new Set(ids).size).toBe(ids.length)
      }),
    )
  })

  it('contain their creation time', () => {
    const at = 2 ** 45
    expect(Number.parseInt(newId('event', at).slice(4, 16), 16)).toBe(at)
  })
})

describe('deterministic ids', () => {
  it('are the same for the same instant and name, and differ where either does', () => {
    const at = 1_760_000_000_000
    const id = deterministicId('event', at, ['a', 'b'])
    expect(idKindOf(id)).toBe('event')
    expect(deterministicId('event', at, ['a', 'b'])).toBe(id)
    const others = [
      deterministicId('event', at + 1, ['a', 'b']),
      deterministicId('event', at, ['ab']),
      deterministicId('event', at, ['a', 'c']),
    ]
    expect(new Set([id, ...others]).size).toBe(4)
    expect(others[0]?.slice(16)).toBe(id.slice(16))
  })
})

describe('secrets', () => {
  it('contain no time: equal instants give unrelated texts', () => {
    const tokens = Array.from({ length: 100 }, newConnectToken)
    expect(tokens.every(token => idKindOf(token) === 'connectSession')).toBe(true)
    for (let index = 4; index < 36; index += 1)
      expect(new Set(tokens.map(token => token[index])).size).toBeGreaterThan(4)
  })

  it('detect a typing error in a key', () => {
    for (const liveMode of [true, false]) {
      const key = newApiKey(liveMode)
      expect(apiKeyMode(key)).toEqual({ liveMode })
      fc.assert(
        fc.property(
          fc.integer({ min: 8, max: key.length - 1 }),
          fc.constantFrom(...'0123456789abcdef'),
          (index, digit) => {
            const typed = key.slice(0, index) + digit + key.slice(index + 1)
            expect(apiKeyMode(typed) === null).toBe(typed !== key)
          },
        ),
      )
      expect(apiKeyMode(key.replace(/^sk_(live|test)/, liveMode ? 'sk_test' : 'sk_live'))).toBeNull()
    }
  })

  it('are hashed under the secret of the installation', () => {
    expect(hashSecret('a', 'key')).toMatch(/^[0-9a-f]{64}$/)
    expect(hashSecret('a', 'key')).toBe(hashSecret('a', 'key'))
    expect(new Set([hashSecret('a', 'key'), hashSecret('b', 'key'), hashSecret('a', 'yek')]).size).toBe(3)
  })
})
