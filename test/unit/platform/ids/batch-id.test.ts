import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchIds } from '../../../../services/platform/ids/batch-id.ts'

const owner = { accountId: 'acc_0198c0ffee00112233445566', liveMode: true }
const ids = batchIds('a secret of the installation')
const anyInstant = fc.integer({ min: 946_684_800_000, max: 4_102_444_800_000 })

describe('the id of a batch', () => {
  it('contains its creation time, in each process of the installation', () => {
    fc.assert(
      fc.property(anyInstant, at => {
        const id = batchIds('a secret of the installation').create(owner, at)
        expect(id).toMatch(/^bat_[0-9a-f]{24}$/)
        expect(ids.createdAt(owner, id)).toBe(at)
      }),
    )
  })

  it("ends in 20 bits of Node's HMAC over the id and its owner, for secrets of any length", () => {
    fc.assert(
      fc.property(anyInstant, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }), (at, secret) => {
        const id = batchIds(secret).create(owner, at)
        const text = `batch ${owner.accountId} true ${id.slice(4, 22)} ${Number.parseInt(id.slice(22, 23), 16)}`
        const check = createHmac('sha256', secret).update(text).digest().readUIntBE(0, 3) % 2 ** 20
        expect(id.slice(23)).toBe(check.toString(16).padStart(5, '0'))
      }),
    )
  })

  it('is invalid for another account, mode or secret', () => {
    const id = ids.create(owner, 1_770_000_000_000)
    expect(ids.createdAt({ ...owner, accountId: 'acc_0198c0ffee00112233445567' }, id)).toBeNull()
    expect(ids.createdAt({ ...owner, liveMode: false }, id)).toBeNull()
    expect(batchIds('another secret').createdAt(owner, id)).toBeNull()
  })

  it('is invalid with any changed digit', () => {
    const id = ids.create(owner, 1_770_000_000_000)
    // A check of 20 bits lets one wrong id in a million pass; of 24 changes none does here, or the odds are 1 : 40,000.
    for (let index = 4; index < id.length; index += 1) {
      const digit = id[index] === '0' ? '1' : '0'
      expect(ids.createdAt(owner, id.slice(0, index) + digit + id.slice(index + 1))).toBeNull()
    }
    for (const text of ['', 'bat_', `loc_${id.slice(4)}`, id.toUpperCase(), `${id}0`])
      expect(ids.createdAt(owner, text)).toBeNull()
  })

  it('is unique and ascends, also if the clock stops or steps back, or the counter overflows', () => {
    const own = batchIds('a secret of the installation')
    const newIds = Array.from({ length: 10_000 }, (_, index) => own.create(owner, 1_770_000_000_000 - (index % 3)))
    expect(new Set(newIds).size).toBe(newIds.length)
    expect(newIds.toSorted()).toEqual(newIds)
  })
})
