import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadSecrets } from '../../services/platform/secrets.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wattledger-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const none = { secret: null, operatorKey: null }
const stored = () => JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8'))

describe('the secrets', () => {
  it('are made once and found again, readable by their owner only', () => {
    const made = loadSecrets(folder, none)
    expect(loadSecrets(folder, none)).toEqual(made)
    expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600)
  })

  it('differ from installation to installation', () => {
    const made = loadSecrets(folder, none)
    rmSync(join(folder, 'secrets.json'))
    expect(loadSecrets(folder, none).secret).not.toBe(made.secret)
  })

  it('are kept only where configuration gives none', () => {
    const given = { secret: 's'.repeat(32), operatorKey: null }
    expect(loadSecrets(folder, given)).toEqual({ secret: given.secret, operatorKey: stored().operator_key })
    expect(stored()).not.toHaveProperty('secret')
    expect(loadSecrets(folder, none).operatorKey).toBe(stored().operator_key)
  })

  it('are never made anew over a file that cannot be read', () => {
    writeFileSync(join(folder, 'secrets.json'), '{"secret": 1}')
    expect(() => loadSecrets(folder, none)).toThrow('restore it')
  })
})
