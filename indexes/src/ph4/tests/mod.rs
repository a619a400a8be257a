mod contract;
mod damage;
mod golden;
mod places;
mod support;
