//! Hash slots: which slot a key is in, and which node serves a slot.

use crate::address::Node;
use crate::{KeyName, Value};

/// Number of slots of a cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// CRC16 with the polynomial 0x1021, as Redis computes it: one entry for each byte.
const CRC: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte: u16 = 0;
    while byte < 256 {
        let mut crc = byte << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

/// The slot of a key: that of the part between the first `{` and the next `}`, if there is something between them.
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    let tag = || {
        let (_, after) = split(key, b'{')?;
        let (tag, _) = split(after, b'}')?;
        (!tag.is_empty()).then_some(tag)
    };
    let crc = tag().unwrap_or(key).iter().fold(0_u16, |crc, byte| {
        let index = usize::from((crc >> 8) as u8 ^ byte);
        (crc << 8) ^ CRC.get(index).copied().unwrap_or_default()
    });
    crc % SLOTS
}

fn split(bytes: &[u8], sign: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == sign)?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

impl KeyName {
    /// The hash slot of the key in a cluster.
    #[must_use]
    pub fn slot(&self) -> u16 {
        slot_of(self.as_bytes())
    }
}

/// Which primary serves each slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotMap {
    /// Ranges of slots, first and last, in ascending order.
    ranges: Vec<(u16, u16, Node)>,
}

impl SlotMap {
    /// Reads the reply to `CLUSTER SLOTS`. A node without an address of its own is the one that was asked.
    pub(crate) fn read(value: &Value, asked: &Node) -> Option<Self> {
        let Value::Array(entries) = value else { return None };
        let mut ranges = Vec::with_capacity(entries.len());
        for entry in entries {
            let Value::Array(parts) = entry else { return None };
            let slot = |at: usize| u16::try_from(parts.get(at)?.as_int()?).ok().filter(|slot| *slot < SLOTS);
            let Some(Value::Array(primary)) = parts.get(2) else { return None };
            let host = primary.first()?.as_bytes().map(String::from_utf8_lossy).unwrap_or_default();
            let host = if host.is_empty() || host == "?" { asked.host.clone() } else { host.into_owned() };
            let port = u16::try_from(primary.get(1)?.as_int()?).ok()?;
            ranges.push((slot(0)?, slot(1)?, Node { host, port }));
        }
        ranges.sort_by_key(|(first, ..)| *first);
        Some(Self { ranges })
    }

    /// The node that serves a slot.
    pub(crate) fn owner(&self, slot: u16) -> Option<&Node> {
        let after = self.ranges.partition_point(|(first, ..)| *first <= slot);
        let (_, last, node) = self.ranges.get(after.checked_sub(1)?)?;
        (slot <= *last).then_some(node)
    }

    /// Notes that a slot has moved to a node.
    pub(crate) fn note(&mut self, slot: u16, node: &Node) {
        let after = self.ranges.partition_point(|(first, ..)| *first <= slot);
        let Some(at) = after.checked_sub(1) else {
            self.ranges.insert(0, (slot, slot, node.clone()));
            return;
        };
        let Some((first, last, owner)) = self.ranges.get(at).cloned() else { return };
        if slot > last {
            self.ranges.insert(after, (slot, slot, node.clone()));
            return;
        }
        let rest = [
            (first < slot).then(|| (first, slot - 1, owner.clone())),
            Some((slot, slot, node.clone())),
            (slot < last).then(|| (slot + 1, last, owner.clone())),
        ];
        self.ranges.splice(at..=at, rest.into_iter().flatten());
    }

    /// All nodes that serve slots, each once.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        for (_, _, node) in &self.ranges {
            if !nodes.contains(node) {
                nodes.push(node.clone());
            }
        }
        nodes
    }

    /// Number of slots that some node serves.
    pub(crate) fn served(&self) -> u16 {
        self.ranges.iter().map(|(first, last, _)| last - first + 1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_are_in_known_slots() {
        // From the specification of Redis Cluster, and from `CLUSTER KEYSLOT`.
        for (key, slot) in [
            ("123456789", 0x31C3),
            ("foo", 12_182),
            ("{user1000}.following", 3_443),
            ("foo{}{bar}", 8_363),
            ("foo{{bar}}zap", 4_015),
            ("foo{bar}{zap}", 5_061),
            ("", 0),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
    }

    fn node(port: u16) -> Node {
        Node { host: "h".into(), port }
    }

    #[test]
    fn a_slot_that_moves_leaves_its_neighbours_where_they_are() {
        let mut map = SlotMap { ranges: vec![(0, 100, node(1)), (200, SLOTS - 1, node(2))] };
        assert_eq!(map.owner(150), None);
        for slot in [0, 50, 100, 150, SLOTS - 1] {
            map.note(slot, &node(3));
        }
        let owner = |slot| map.owner(slot).map(|node| node.port);
        let owners: Vec<_> =
            [0, 1, 49, 50, 51, 99, 100, 101, 150, 151, 200, SLOTS - 2, SLOTS - 1].map(owner).into();
        let some = [Some(3), Some(1), Some(1), Some(3), Some(1), Some(1), Some(3)];
        assert_eq!(owners.get(..7), Some(&some[..]));
        assert_eq!(owners.get(7..), Some(&[None, Some(3), None, Some(2), Some(2), Some(3)][..]));
        assert_eq!(map.served(), SLOTS - 98);
        assert_eq!(map.nodes().len(), 3);
    }

    #[test]
    fn a_reply_without_a_host_means_the_node_that_was_asked() {
        let bulk = |text: &str| Value::BulkString(text.into());
        let entry = |first, last, host| {
            Value::Array(vec![
                Value::Int(first),
                Value::Int(last),
                Value::Array(vec![host, Value::Int(7000), bulk("id")]),
                Value::Array(vec![bulk("replica"), Value::Int(7001), bulk("id")]),
            ])
        };
        let reply =
            Value::Array(vec![entry(5, 9, bulk("")), entry(0, 4, bulk("b")), entry(10, 11, Value::Nil)]);
        let map = SlotMap::read(&reply, &node(1)).unwrap();
        let hosts: Vec<_> = [0, 5, 10].map(|slot| map.owner(slot).map(|node| node.host.clone())).into();
        assert_eq!(hosts, [Some("b".into()), Some("h".into()), Some("h".into())]);
        assert!(SlotMap::read(&Value::Array(vec![entry(0, 16_384, bulk("b"))]), &node(1)).is_none());
        assert!(SlotMap::read(&Value::Nil, &node(1)).is_none());
    }
}
