import { describe, expect, it } from 'vitest'
import { peerFinder } from '../../../../services/platform/http/peer.ts'

const socket = (remoteAddress: string | undefined) => ({ incoming: { socket: { remoteAddress } } })
const forwarded = (text?: string) => new Headers(text === undefined ? {} : { 'x-forwarded-for': text })
const find = peerFinder(['10.0.0.0/8', 'fd00::/8'])

describe('the peer of a request', () => {
  it.each([
    ['the socket', '203.0.113.7', undefined, '203.0.113.7'],
    ['the socket, if it is not a trusted proxy', '203.0.113.7', '198.51.100.1', '203.0.113.7'],
    ['IPv4 written as IPv6', '::ffff:203.0.113.7', undefined, '203.0.113.7'],
    ['the network of an IPv6 address', '2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::/64'],
    ['the same network, written short', '2001:db8:1:2::9', undefined, '2001:db8:1:2::/64'],
    ['the network of ::1', '::1', undefined, '0:0:0:0::/64'],
    ['the address that a trusted proxy forwards', '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    [
      'the address that a trusted proxy with a mapped address forwards',
      '::ffff:10.1.2.3',
      '198.51.100.1',
      '198.51.100.1',
    ],
    [
      'the nearest untrusted address, not what the caller wrote before it',
      '10.1.2.3',
      '8.8.8.8, 198.51.100.1, 10.9.9.9',
      '198.51.100.1',
    ],
    ['a forwarded address with port', '10.1.2.3', '198.51.100.1:4711', '198.51.100.1'],
    ['a forwarded IPv6 address with port', 'fd00::1', '[2001:db8::1]:4711', '2001:db8:0:0::/64'],
    ['the proxy, if nothing is forwarded', '10.1.2.3', undefined, '10.1.2.3'],
    ['the proxy, if it forwards no address', '10.1.2.3', '198.51.100.1, unknown', '10.1.2.3'],
    ['the farthest proxy, if all are trusted', '10.1.2.3', '10.4.4.4, 10.5.5.5', '10.4.4.4'],
    ['unknown without a socket', undefined, '198.51.100.1', 'unknown'],
  ])('is %s', (_, remote, header, peer) => {
    expect(find(socket(remote), forwarded(header))).toBe(peer)
  })

  it('ignores X-Forwarded-For without trusted proxies', () => {
    expect(peerFinder([])(socket('10.1.2.3'), forwarded('198.51.100.1'))).toBe('10.1.2.3')
  })
})
