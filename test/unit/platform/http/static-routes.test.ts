import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { compress } from '../../../../services/platform/http/answer.ts'
import { lazyRoute } from '../../../../services/platform/http/static-routes.ts'

describe('a constant static route', () => {
  const text = 'ä page '.repeat(1_000)
  const page = lazyRoute('/', function* () {
    yield
    return { status: 200, mediaType: 'text/html', body: text }
  })
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
