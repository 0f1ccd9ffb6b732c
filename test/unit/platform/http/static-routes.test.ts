import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { compress } from '../../../../services/platform/http/answer.ts'
import { healthRoutes, lazyRoute } from '../../../../services/platform/http/static-routes.ts'

describe('a constant static route', () => {
  const text = 'ä page '.repeat(1_000)
  const page = lazyRoute('/', () => ({ status: 200, mediaType: 'text/html', body: text }))
  const read = async () => (await page.read('/', new URLSearchParams()))?.body ?? expect.fail()

  it('is encoded and compressed once for all reads', async () => {
    const [first, second] = [await read(), await read()]
    expect(first).toBeInstanceOf(Uint8Array)
    expect(second).toBe(first)
    const compressed = await compress(first)
    expect(await compress(second)).toBe(compressed)
    expect(gunzipSync(compressed).toString()).toBe(text)
  })
})

describe('/health/ready', () => {
  const [well, broken] = [() => true, () => Promise.reject(new Error('away'))]
  it.each([
    ['ok', 200, well, well, { log: true, metering: true }],
    ['degraded', 200, well, broken, { log: true, metering: false }],
    ['failing', 503, broken, well, { log: false, metering: true }],
    ['failing', 503, broken, broken, { log: false, metering: false }],
  ])(
    'is %s with %i, and names each check and each part',
    async (status, code, isStoreHealthy, isPartHealthy, checks) => {
      const routes = healthRoutes(
        [],
        [{ name: 'log', isHealthy: isStoreHealthy }],
        [{ name: 'metering', isHealthy: isPartHealthy }],
      )
      const answer = await routes
        .find(({ path }) => path === '/health/ready')
        ?.read('/health/ready', new URLSearchParams())
      expect(answer?.status).toBe(code)
      expect(JSON.parse(String(answer?.body))).toEqual({ status, checks })
      const live = await routes.find(({ path }) => path === '/health/live')?.read('/health/live', new URLSearchParams())
      expect(JSON.parse(String(live?.body))).toEqual({ status: 'ok', checks: {} })
    },
  )
})
