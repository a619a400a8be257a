//! What may be said of a key.

use kiban_formats::{Kind, PageNo};

use super::table::{Ask, Row, Table};
use crate::contract::{Location, Presence};

/// Knows the truth about a table.
#[derive(Clone, Copy)]
pub(super) struct Judge<'t> {
    pub(super) table: &'t Table,
    /// What the format says of itself.
    pub(super) keeps_keys: bool,
}

impl<'t> Judge<'t> {
    fn versions(&self, ask: &Ask<'_>) -> &'t [Row] {
        ask.key.map_or(&[], |key| self.table.versions(key))
    }

    /// The newest version that the snapshot may see.
    fn visible(&self, ask: &Ask<'_>) -> Option<&'t Row> {
        self.versions(ask).iter().find(|row| row.seq <= ask.snapshot)
    }

    /// The promises hold, whatever else is said.
    pub(super) fn promise(&self, ask: &Ask<'_>, said: Location) -> Result<(), String> {
        let visible = self.visible(ask);
        match said {
            Location::Absent if visible.is_some() => Err(told(ask, &said, "the table has a version")),
            Location::Deleted if !self.keeps_keys => Err(told(ask, &said, "the format keeps no keys")),
            Location::Deleted if visible.is_none_or(|row| row.kind != Kind::Delete) => {
                Err(told(ask, &said, "its newest version is no tombstone"))
            }
            _ => Ok(()),
        }
    }

    /// Of a key that the table has, the place is the newest version's, or that of the newest one
    /// that the snapshot may see.
    pub(super) fn place(&self, ask: &Ask<'_>, said: Location) -> Result<(), String> {
        if let Location::Pages { first, last } = said
            && last.0.checked_sub(first.0).is_none_or(|more| more >= Location::RUN_PAGES_MAX)
        {
            return Err(told(ask, &said, "no run of pages that is searched"));
        }
        let rows = [self.versions(ask).first(), self.visible(ask)];
        let mut rows = rows.into_iter().flatten().peekable();
        match rows.peek().is_none() || rows.any(|row| is_place_of(said, row)) {
            true => Ok(()),
            false => Err(told(ask, &said, "its newest version is elsewhere")),
        }
    }

    /// What is known without the page is so.
    pub(super) fn presence(&self, ask: &Ask<'_>, said: Presence) -> Result<(), String> {
        let truth = match self.visible(ask).map(|row| row.kind) {
            None => Presence::Absent,
            Some(Kind::Delete) => Presence::Deleted,
            Some(Kind::Put) => Presence::Live,
        };
        match said {
            Presence::Unknown => Ok(()),
            _ if !self.keeps_keys => Err(told(ask, &said, "the format keeps no keys")),
            _ if said != truth => Err(told(ask, &said, &format!("it is {truth:?}"))),
            _ => Ok(()),
        }
    }
}

fn is_place_of(said: Location, row: &Row) -> bool {
    let place = row.place;
    match said {
        Location::Page(page) => page == place.page,
        Location::Slot { page, slot } => (page, slot) == (place.page, place.slot),
        Location::Entry { page, offset } => (page, offset) == (place.page, place.offset),
        Location::Pages { first: PageNo(first), last: PageNo(last) } => {
            (first..=last).contains(&place.page.0)
        }
        Location::Absent | Location::Deleted | Location::Unknown => true,
    }
}

/// A sentence about an answer.
fn told(ask: &Ask<'_>, said: &dyn std::fmt::Debug, but: &str) -> String {
    let shown = String::from_utf8_lossy(&ask.bytes[..ask.bytes.len().min(40)]).into_owned();
    let (len, snapshot) = (ask.bytes.len(), ask.snapshot);
    format!("key {shown:?} ({len} bytes) at snapshot {snapshot}: {said:?}, but {but}")
}
