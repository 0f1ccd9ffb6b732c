import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { frameTail } from '../../../../../services/platform/log/lmdb/lmdb-partition.ts'

const frame = (bytes: number): Buffer => Buffer.alloc(bytes)

describe('frame cache', () => {
  it('stores frames up to its size, and removes the oldest frame for one more byte', () => {
    const tail = frameTail(10)
    tail.put(7, frame(4))
    tail.put(8, frame(6))
    expect(tail.get(7)?.length).toBe(4)
    tail.put(9, frame(1))
    expect([7, 8, 9].map(offset => tail.get(offset)?.length)).toEqual([undefined, 6, 1])
  })

  it('stores no frame that is larger than its size', () => {
    const tail = frameTail(10)
    tail.put(0, frame(3))
    tail.put(1, frame(11))
    expect([tail.get(0), tail.get(1)]).toEqual([undefined, undefined])
    tail.put(2, frame(10))
    expect(tail.get(2)?.length).toBe(10)
  })

  it('stores the newest frames that fit, of any sizes', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30)), fc.nat(60), (sizes, maxBytes) => {
        const tail = frameTail(maxBytes)
        const frames = sizes.map(frame)
        frames.forEach((one, offset) => {
          tail.put(offset, one)
        })
        let freeBytes = maxBytes
        let isReferenced = true
        for (let offset = sizes.length - 1; offset >= 0; offset -= 1) {
          freeBytes -= sizes[offset] ?? 0
          isReferenced &&= freeBytes >= 0
          expect(tail.get(offset)).toBe(isReferenced ? frames[offset] : undefined)
        }
      }),
    )
  })
})
