import { expect, it } from 'vitest'
import { supplierLogos } from '../../../../services/connect/pages/connect-page.ts'
import { Failure } from '../../../../services/platform/failure.ts'

it('the logos of suppliers are read once a minute, and those read before stay while PostgreSQL is away', async () => {
  let [now, reads, isAway] = [0, 0, false]
  const logos = supplierLogos(
    async () => {
      reads += 1
      if (isAway) throw new Failure('postgres_away', 'PostgreSQL does not answer.', { retriable: true })
      return [`https://logos.example/${reads}`]
    },
    () => now,
  )
  expect([await logos(), await logos(), reads]).toEqual([['https://logos.example/1'], ['https://logos.example/1'], 1])
  now = 60_000
  expect([await logos(), reads]).toEqual([['https://logos.example/2'], 2])
  isAway = true
  now = 120_000
  expect([await logos(), await logos(), reads]).toEqual([['https://logos.example/2'], ['https://logos.example/2'], 3])
  isAway = false
  now = 180_000
  expect([await logos(), reads]).toEqual([['https://logos.example/4'], 4])
})

it('the first visitors do not wait for each other', async () => {
  const { promise, resolve } = Promise.withResolvers<readonly string[]>()
  const logos = supplierLogos(
    () => promise,
    () => 0,
  )
  const first = logos()
  expect(await logos()).toEqual([])
  resolve(['https://logos.example/1'])
  expect(await first).toEqual(['https://logos.example/1'])
})
