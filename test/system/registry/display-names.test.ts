import { describe, expect, it } from 'vitest'
import type { ApiVersion } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

type Named = { readonly id: string; readonly display_name: string | null }

const zone = { timezone: 'Europe/Berlin', currency_code: 'EUR' }

describe.each([
  ['/customers', {}],
  ['/locations', zone],
  ['/devices', {}],
])('the name of an object of %s', (path, more) => {
  it.each<ApiVersion>(['current', 'earlier'])(
    'is set, changed, cleared, listed and sent in events: %s',
    async version => {
      const client = await system.login('test', version)
      const reference_id = `names ${path} ${version}`
      const draft = { ...more, reference_id, display_name: 'Café „Süd“ 🌞' }
      const { id, display_name } = (await client.ask('POST', path, draft)) as Named
      expect(display_name).toBe('Café „Süd“ 🌞')
      const read = async () => ((await client.ask('GET', `${path}/${id}`)) as Named).display_name
      expect(await read()).toBe('Café „Süd“ 🌞')
      expect(await client.ask('PATCH', `${path}/${id}`, { metadata: { a: 'b' } })).toMatchObject({ display_name })
      expect(await client.ask('PATCH', `${path}/${id}`, { display_name: 'North' })).toMatchObject({
        display_name: 'North',
      })
      const list = await client.ask('GET', `${path}?reference_id=${encodeURIComponent(reference_id)}`)
      expect(list).toMatchObject({ data: [{ id, display_name: 'North' }] })
      const events = await client.ask('GET', `/events?object_id=${id}&limit=1`)
      expect(JSON.stringify(events)).toContain('"display_name":"North"')
      await client.ask('PATCH', `${path}/${id}`, { display_name: null })
      // The earlier version leaves out texts that are null.
      expect((await read()) ?? null).toBeNull()
    },
  )

  it('identifies nothing: two objects have the same one, and reference: does not find it', async () => {
    const client = await system.login()
    const name = `twins of ${path}`
    for (const number of [1, 2])
      await client.ask('POST', path, { ...more, reference_id: `${name} ${number}`, display_name: name })
    expect((await client.send('GET', `${path}/${encodeURIComponent(`reference:${name}`)}`)).status).toBe(404)
    const hits = (await client.ask('GET', `/search?query=${encodeURIComponent(name.toUpperCase())}`)) as {
      readonly data: readonly { readonly name: string }[]
    }
    expect(hits.data.map(hit => hit.name)).toEqual([name, name])
  })

  it('has at most 255 characters, and no NUL', async () => {
    const client = await system.login()
    const post = async (name: string, reference: string) =>
      client.send('POST', path, { ...more, reference_id: `${path} ${reference}`, display_name: name })
    expect(await post('🌞'.repeat(255), 'longest')).toMatchObject({ status: 201 })
    const refusals = [
      await post('🌞'.repeat(256), 'too long'),
      await post('a\0b', 'NUL'),
      await post('', 'empty'),
      await post('\ud800', 'lone surrogate'),
    ]
    expect(refusals.map(({ status, json }) => [status, (json as { readonly code: string }).code])).toEqual([
      [400, 'field_too_long'],
      [400, 'body_invalid'],
      [400, 'field_invalid'],
      [400, 'body_invalid'],
    ])
  })
})
