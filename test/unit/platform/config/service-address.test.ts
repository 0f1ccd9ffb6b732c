import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../../services/platform/config/config.ts'
import { localAddress, serviceAddress } from '../../../../services/platform/config/service-address.ts'

describe('the address of a server', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:8080'],
    ['0.0.0.0', 'http://127.0.0.1:8080'],
    ['0', 'http://127.0.0.1:8080'],
    ['::', 'http://[::1]:8080'],
    ['0:0:0:0:0:0:0:0', 'http://[::1]:8080'],
    ['::1', 'http://[::1]:8080'],
    ['fd00::5', 'http://[fd00::5]:8080'],
    ['10.1.2.3', 'http://10.1.2.3:8080'],
    ['meters.internal', 'http://meters.internal:8080'],
  ])('that listens on %s is %s', (host, address) => {
    expect(localAddress(host, 8080)).toBe(address)
  })

  it('is the public address if it is set', () => {
    const config = readConfig({ WATTLEDGER_HOST: '0.0.0.0', WATTLEDGER_PUBLIC_URL: 'https://meters.example.com/' })
    expect(serviceAddress(config, 8080)).toBe('https://meters.example.com')
    expect(serviceAddress(readConfig({ WATTLEDGER_HOST: '0.0.0.0' }), 80)).toBe('http://127.0.0.1:80')
  })
})

/** Addresses in a text that are made of a host to listen on. */
const rawAddresses = (text: string): readonly string[] => text.match(/http:\/\/\$\{[^}]*\bhost\b[^}]*\}/g) ?? []

describe('links', () => {
  it('are made of the host to listen on in one file only', () => {
    const files = globSync('services/**/*.{ts,mjs}').filter(file => rawAddresses(readFileSync(file, 'utf8')).length > 0)
    expect(files).toEqual(['services/platform/config/service-address.ts'])
    expect(rawAddresses('`http://$' + '{config.host}:8080`')).toHaveLength(1)
  })
})
