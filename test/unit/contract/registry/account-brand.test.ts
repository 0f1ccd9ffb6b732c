import { describe, expect, it } from 'vitest'
import { imageOrigin, imageSources, readAccountBrand } from '../../../../services/contract/registry/account-brand.ts'

describe('the image sources of a page', () => {
  it.each([
    ['https://logos.example.com/a.svg', 'https://logos.example.com'],
    ['https://LOGOS.example.com:8443/a?b#c', 'https://logos.example.com:8443'],
    ['https://bücher.example/a.png', 'https://xn--bcher-kva.example'],
    ['http://127.0.0.1:8080/a.png', 'http://127.0.0.1:8080'],
    ['http://[::1]:9/a.png', 'http://[::1]:9'],
    // Hosts that end a source or a directive
    ["https://a;script-src'unsafe-inline'/x", null],
    ['https://a;b/x', null],
    ['https://a,b/x', null],
    ["https://'self'/x", null],
    ['https://*/x', null],
    ['https://*.example.com/x', null],
    ['http://logos.example.com/a.svg', null],
    ['data:image/png;base64,AA', null],
    ['javascript:alert(1)', null],
    ['logo.png', null],
    ['', null],
  ])('of %s are %s', (address, origin) => {
    expect(imageOrigin(address)).toBe(origin)
    expect(imageSources([address, null])).toBe(["img-src 'self' data:", ...(origin === null ? [] : [origin])].join(' '))
  })

  it('have each origin once, and at most 60 origins', () => {
    const two = ['https://b.example/1', 'https://a.example/2', 'https://b.example/3']
    expect(imageSources(two)).toBe("img-src 'self' data: https://a.example https://b.example")
    const many = imageSources(Array.from({ length: 100 }, (_, n) => `https://h${n}.example/logo`))
    expect(many.split(' https://')).toHaveLength(61)
  })
})

describe('an address of an account', () => {
  it.each([
    ['', null],
    ['  ', null],
    [' https://volt.example/privacy?lang=en#top ', 'https://volt.example/privacy?lang=en#top'],
    ['http://localhost:3000/terms', 'http://localhost:3000/terms'],
    [`https://volt.example/${'a'.repeat(2_048 - 21)}`, `https://volt.example/${'a'.repeat(2_048 - 21)}`],
  ])('%j is accepted', (text, value) => expect(readAccountBrand('terms_url', text)).toEqual({ ok: true, value }))

  it.each([
    ['http://volt.example/', 'terms_url must begin with https://, or with http:// and a loopback host'],
    ['javascript:alert(1)', 'terms_url must begin with https://, or with http:// and a loopback host'],
    ['volt.example', 'terms_url must be a complete address, such as https://example.com/page'],
    ['https://volt.example/a b', 'terms_url must be a complete address, such as https://example.com/page'],
    ['https://me:secret@volt.example/', 'terms_url must not contain a user name or password'],
    [`https://volt.example/${'a'.repeat(2_049 - 21)}`, 'terms_url must have at most 2048 characters'],
  ])('%j is refused', (text, message) => {
    const read = readAccountBrand('terms_url', text)
    expect(read).toMatchObject({ ok: false, refusal: { field: 'terms_url' } })
    expect(read.ok ? '' : read.refusal.message.replace(/\.$/, '')).toBe(message)
  })

  it('of a logo has a host that a policy can contain', () => {
    expect(readAccountBrand('logo_url', 'https://a;b/logo.svg')).toMatchObject({
      ok: false,
      refusal: { field: 'logo_url' },
    })
    expect(readAccountBrand('logo_url', 'https://a.example/logo.svg').ok).toBe(true)
  })
})

describe('the colour of an account', () => {
  it.each([
    ['', null],
    ['#0a5c3e', '#0a5c3e'],
    [' #0A5C3E ', '#0a5c3e'],
    ['#000000', '#000000'],
  ])('%j is accepted', (text, value) => expect(readAccountBrand('brand_color', text)).toEqual({ ok: true, value }))

  it.each(['green', '#abc', '0a5c3e', '#0a5c3e;}', '#0a5c3g', 'rgb(0,0,0)', '#0a5c3e0a'])('%j is refused', text => {
    expect(readAccountBrand('brand_color', text)).toMatchObject({
      ok: false,
      refusal: { field: 'brand_color', message: expect.stringContaining('must be a colour such as #0a5c3e') },
    })
  })

  it('that people cannot read is refused with the nearest colour that they can read', () => {
    const refused = readAccountBrand('brand_color', '#7ac943')
    const message = refused.ok ? '' : refused.refusal.message
    expect(message).toMatch(/contrast with the page is 1\.8, and at least 4\.5 is needed\. Use #[0-9a-f]{6}/)
    const [, proposed = ''] = /Use (#[0-9a-f]{6})/.exec(message) ?? []
    expect(readAccountBrand('brand_color', proposed)).toEqual({ ok: true, value: proposed })
  })
})
