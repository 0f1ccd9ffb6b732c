import { beginsWithOneOf, type NamedShortForm } from '../test-run/short-form.ts'

/** Code that the tests of the clients test: the contract with its documents, the clients, and the tests themselves. */
export const codeOfClients = [
  'clients/',
  'schemas/openapi/',
  'services/contract/',
  'test/clients/',
  'test/support/clients/',
] as const

const clients = ['TypeScript on the packaged Node', 'TypeScript on Node 20', 'Python'] as const

/** Clients of `clients.test.ts`: all after a change of their code, otherwise one at random. */
export const clientsInShort: NamedShortForm<(typeof clients)[number]> = {
  file: 'test/clients/clients.test.ts',
  variable: 'CLIENT_LANGUAGES',
  cases: clients,
  nameOf: client => client,
  isWide: beginsWithOneOf(codeOfClients),
  added: () => 1,
}
