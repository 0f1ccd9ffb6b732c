import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readRequest } from '../../../../services/contract/exchange.ts'
import { fields } from '../../../../services/contract/field.ts'
import { defineOperation, sameRoute } from '../../../../services/contract/operation.ts'
import { noReferenceIds } from '../../../../services/domain/reference.ts'
import { nextTurnFor, readWithinLimit } from '../../../../services/platform/http/request-body.ts'

const bodyOf = (text: string) => ({ bytes: Buffer.from(text), mediaType: 'application/json' })
const ofLength = (length: number) => bodyOf(`"${'x'.repeat(length - 2)}"`)

/** Return whether other work runs before the next step with a body. */
const letsOthersRun = async (length: number): Promise<boolean> => {
  let hasRun = false
  setImmediate(() => {
    hasRun = true
  })
  await nextTurnFor(ofLength(length), 'acc_1')
  return hasRun
}

describe('a request with a long body', () => {
  it('lets other work run before each step; a body of 64 KiB does not', async () => {
    expect(await letsOthersRun(65_537)).toBe(true)
    expect(await letsOthersRun(65_536)).toBe(false)
  })

  it('has its steps in different turns, whatever other bodies arrive with it', async () => {
    const turns: number[] = []
    let turn = 0
    const counting = setInterval(() => {
      turn += 1
    }, 0)
    const step = async () => {
      await nextTurnFor(ofLength(100_000), 'acc_1')
      const end = performance.now() + 5
      while (performance.now() < end);
      turns.push(turn)
    }
    await Promise.all(Array.from({ length: 5 }, step))
    clearInterval(counting)
    expect(new Set(turns).size).toBe(5)
  })

  it('lets other work run between its chunks while they arrive', async () => {
    const [count, chunkBytes] = [40, 65_536]
    const body = new ReadableStream<Uint8Array>({
      start: controller => {
        for (let at = 0; at < count; at += 1) controller.enqueue(new Uint8Array(chunkBytes))
        controller.close()
      },
    })
    let [turns, isOver] = [0, false]
    const watch = (): void => {
      turns += 1
      if (!isOver) setImmediate(watch)
    }
    setImmediate(watch)
    const hasCapacity = (): boolean => {
      const end = performance.now() + 4
      while (performance.now() < end);
      return true
    }
    const read = await readWithinLimit(body, count * chunkBytes, { account: 'acc_1', hasCapacity })
    isOver = true
    expect(read.ok && read.value.length).toBe(count * chunkBytes)
    expect(turns).toBeGreaterThan(count / 2)
  })

  it('is measured, decoded, parsed and validated in a step each', async () => {
    const route = { method: 'POST', path: '/things' } as const
    const operation = defineOperation({
      id: 'thing_create',
      summary: 'Create a thing',
      description: 'Test.',
      tag: 'Tests',
      access: 'all',
      routes: sameRoute('POST', '/things'),
      body: fields({ name: z.string() }),
      answer: { name: 'Thing', shape: z.object({}) },
      status: 200,
    })
    const stepsOf = async (text: string): Promise<number> => {
      let steps = 0
      const nextTurn = async () => {
        steps += 1
      }
      const wire = { route, apiVersion: 'current', parameters: {}, search: '', body: bodyOf(text) } as const
      await readRequest(operation, wire, { findIds: () => Promise.resolve(noReferenceIds), nextTurn })
      return steps
    }
    expect(await stepsOf('{')).toBe(3)
    expect(await stepsOf('{"name":"a"}')).toBe(4)
  })
})
